// The decoders' side of the language model: natural logs, states, rules.
#include <cmath>
#include <string>
#include <unordered_set>

#include "base/error.hpp"
#include "base/io.hpp"
#include "lm/chart_state.hpp"
#include "lm/model.hpp"
#include "lm/model_builder.hpp"
#include "tests/test.hpp"

namespace hopefear::lm {
namespace {

constexpr const char* kArpa =
    "\\data\\\nngram 1=5\nngram 2=2\nngram 3=1\n\n\\1-grams:\n"
    "-3\t<unk>\n-99\t<s>\t-0.5\n-1\t</s>\n-0.5\ta\t-0.25\n-0.75\tb\t-0.125\n\n"
    "\\2-grams:\n-0.25\t<s> a\t-0.375\n-0.5\ta b\n\n\\3-grams:\n-0.0625\t<s> a b\n\n\\end\\\n";

std::shared_ptr<const Model> model() {
  MemorySource source("test", kArpa);
  return read_arpa(source);
}

bool near(double a, double b) { return std::fabs(a - b) < 1e-5; }

TEST(lm_scores_are_natural_logs) {
  const auto lm = model();
  const WordId a = lm->find("a"), b = lm->find("b");
  CHECK_EQUAL(lm->find("c"), kUnknown);
  CHECK_EQUAL(lm->word(a), std::string_view("a"));
  State state = lm->begin();
  CHECK(near(lm->score(state, a, state), -0.25 * kLn10));
  CHECK_EQUAL(state.length(), 2u);
  CHECK(near(lm->score(state, b, state), -0.0625 * kLn10));
  CHECK_EQUAL(state.length(), 1u);  // no n-gram of the model continues "a b"
  CHECK(near(lm->score(state, kUnknown, state), (-0.125 - 3) * kLn10));
  CHECK(state == lm->empty());
}

TEST(lm_states_are_keys) {
  const auto lm = model();
  State one, other;
  lm->score(lm->empty(), lm->find("b"), one);
  lm->score(lm->begin(), lm->find("b"), other);
  const std::unordered_set<State> states = {one, other, lm->begin(), lm->empty()};
  CHECK_EQUAL(states.size(), 3u);
}

TEST(lm_rules_are_natural_logs) {
  const auto lm = model();
  RuleScore inner(*lm);
  inner.terminal(lm->find("a"));
  inner.terminal(lm->find("b"));
  CHECK(near(inner.score(), (-0.5 - 0.5) * kLn10));
  CHECK_EQUAL(int{inner.state.left_length}, 2);
  CHECK(inner.state.full);
  RuleScore again(*lm);
  again.nonterminal(inner.state, inner.score());
  CHECK(again.state == inner.state);
  CHECK_EQUAL(hash_of(again.state), hash_of(inner.state));
  RuleScore whole(*lm);
  whole.begin_sentence();
  whole.nonterminal(inner.state, inner.score());
  whole.terminal(lm->eos());
  CHECK(near(whole.score(), (-0.25 - 0.0625 - 0.125 - 1) * kLn10));
}

TEST(lm_arpa_errors_name_the_line) {
  MemorySource source("test", "\\data\\\nngram 1=1\n\n\\1-grams:\nx a\n\\end\\\n");
  std::string message;
  try {
    read_arpa(source);
  } catch (const InputError& error) {
    message = error.what();
  }
  CHECK(message.starts_with("test:5: expected a log10 probability, found 'x'"));
}

}  // namespace
}  // namespace hopefear::lm
