"""Decoders in other processes: any command line, or a decoder with Mr. MIRA's protocol."""
