#include "rules/ranked_sink.hpp"

#include <algorithm>
#include <numeric>

namespace hopefear::rules {

void RankedSink::add(const RuleView& rule) {
  if (!std::ranges::equal(rule.source, source_)) {
    flush();
    source_.assign(rule.source.begin(), rule.source.end());
  }
  double sum = 0;
  for (size_t i = 0; i < translation_; ++i) sum += rule.scores[i];
  const float key = rule.scores.empty() ? 0 : rule.scores[column_];
  held_.push_back(
      {rule, targets_.size(), links_.size(), scores_.size(), fragments_.size(), key, sum});
  targets_.insert(targets_.end(), rule.target.begin(), rule.target.end());
  links_.insert(links_.end(), rule.links.begin(), rule.links.end());
  scores_.insert(scores_.end(), rule.scores.begin(), rule.scores.end());
  fragments_.insert(fragments_.end(), rule.fragment.begin(), rule.fragment.end());
}

void RankedSink::flush() {
  std::stable_sort(held_.begin(), held_.end(), [](const Held& a, const Held& b) {
    return a.key != b.key ? a.key > b.key : a.sum > b.sum;
  });
  if (limit_ > 0 && held_.size() > limit_) {
    dropped_ += held_.size() - limit_;
    held_.resize(limit_);
  }
  for (Held& held : held_) {
    RuleView& view = held.view;
    view.source = source_;
    view.target = {targets_.data() + held.target, view.target.size()};
    view.links = {links_.data() + held.links, view.links.size()};
    view.scores = {scores_.data() + held.scores, view.scores.size()};
    view.fragment = {fragments_.data() + held.fragment, view.fragment.size()};
    next_.add(view);
  }
  held_.clear();
  targets_.clear();
  links_.clear();
  scores_.clear();
  fragments_.clear();
  source_.clear();
}

}  // namespace hopefear::rules
