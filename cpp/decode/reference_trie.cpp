#include "decode/reference_trie.hpp"

#include <algorithm>

namespace hopefear::decode {

ReferenceTrie::ReferenceTrie(std::vector<std::vector<int32_t>> references) {
  nodes_.push_back({-1, kNoNode, 1, 0, false});
  // In sorted order a reference shares a prefix with the one before or with none, and nodes are
  // made in pre-order.
  std::sort(references.begin(), references.end());
  std::vector<Node> path = {kRoot};  // of the reference before
  const std::vector<int32_t>* before = nullptr;
  int32_t largest = -1;
  for (const std::vector<int32_t>& reference : references) {
    size_t shared = 0;
    if (before != nullptr) {
      shared = static_cast<size_t>(
          std::mismatch(reference.begin(), reference.end(), before->begin(), before->end()).first -
          reference.begin());
    }
    path.resize(shared + 1);
    for (size_t i = shared; i < reference.size(); ++i) {
      largest = std::max(largest, reference[i]);
      nodes_.push_back(
          {reference[i], path.back(), size() + 1, static_cast<uint32_t>(i + 1), false});
      path.push_back(size() - 1);
    }
    nodes_[path.back()].complete = true;
    before = &reference;
  }
  words_.assign(static_cast<size_t>(largest + 1) / 64 + 1, 0);
  for (Node node = size() - 1; node > kRoot; --node) {
    const NodeInfo& info = nodes_[node];
    nodes_[info.parent].end = std::max(nodes_[info.parent].end, info.end);
    words_[static_cast<size_t>(info.word) / 64] |= uint64_t{1} << (info.word % 64);
  }
}

}  // namespace hopefear::decode
