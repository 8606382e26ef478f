#include "bind/bind.hpp"

NB_MODULE(_engine, m) {
  m.doc() = "The engine of Hopefear. Use it through the Python package, not directly.";
  hopefear::bind::bind_base(m);
  hopefear::bind::bind_lm(m);
  hopefear::bind::bind_metrics(m);
  hopefear::bind::bind_weights(m);
  hopefear::bind::bind_lm_estimate(m);
  hopefear::bind::bind_align(m);
  hopefear::bind::bind_forest(m);
  hopefear::bind::bind_inference(m);
  hopefear::bind::bind_forest_files(m);
  hopefear::bind::bind_expand(m);
  hopefear::bind::bind_string_sums(m);
  hopefear::bind::bind_extract(m);
  hopefear::bind::bind_rules(m);
  hopefear::bind::bind_features(m);
  hopefear::bind::bind_phrase(m);
  hopefear::bind::bind_tune(m);
  hopefear::bind::bind_bins(m);
  hopefear::bind::bind_chart(m);
  hopefear::bind::bind_violations(m);
  hopefear::bind::bind_clusters(m);
  hopefear::bind::bind_syntax(m);
  hopefear::bind::bind_parser(m);
}
