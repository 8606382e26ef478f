"""N-gram language models: estimating them from text, compiling, querying."""
