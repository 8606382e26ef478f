// Ranks a stream of rules for a table: the rules of each source side, best first, up to a limit.
#pragma once

#include <cstdint>
#include <vector>

#include "rules/rule.hpp"

namespace hopefear::rules {

// Rules are ranked by one column, then by the sum of all translation scores, then by order of
// arrival. Memory: the rules of one source side.
class RankedSink : public RuleSink {
 public:
  // `limit` 0 keeps all.
  RankedSink(RuleSink& next, size_t translation_columns, size_t column, uint32_t limit)
      : next_(next), translation_(translation_columns), column_(column), limit_(limit) {}
  void add(const RuleView& rule) override;
  void flush();  // call it after the last rule
  uint64_t dropped() const { return dropped_; }

 private:
  struct Held {
    RuleView view;  // its spans are offsets until flush
    size_t target, links, scores, fragment;
    float key;
    double sum;
  };
  RuleSink& next_;
  size_t translation_, column_;
  uint32_t limit_;
  std::vector<Symbol> source_;
  std::vector<Held> held_;
  std::vector<Symbol> targets_;
  std::vector<Link> links_;
  std::vector<float> scores_;
  std::vector<uint16_t> fragments_;
  uint64_t dropped_ = 0;
};

}  // namespace hopefear::rules
