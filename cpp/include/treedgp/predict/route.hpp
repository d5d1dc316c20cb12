// Which leaf of a stored tree each row falls in.
#pragma once
#include "treedgp/state/draws.hpp"

namespace treedgp {

// A stored tree, ready to route rows.
class Router {
 public:
  Router(const DrawsView& draws, std::int64_t draw, int n_columns) {
    std::int64_t node = draws.node_start[draw];
    const std::int64_t end = draws.node_start[draw + 1];
    read(draws, node, end, n_columns, 0);
    if (node != end) throw std::invalid_argument("draws: nodes left over after a tree");
  }

  int n_leaves() const { return n_leaves_; }

  // `code_of(column)` is the row's code; a level not seen in training has code -1 and goes to the rest side.
  template <class CodeOf>
  int leaf(const Partitioner& partitioner, CodeOf&& code_of) const {
    int at = 0;
    while (nodes_[at].rule.column >= 0) {
      const Rule& rule = nodes_[at].rule;
      at = partitioner.column(rule.column).goes_left(code_of(rule.column), rule.cut) ? at + 1 : nodes_[at].right;
    }
    return nodes_[at].leaf;
  }

  // The rows of each leaf: those of the training data, or new ones with codes (n_columns, n).
  std::vector<std::vector<int>> group(const Partitioner& partitioner) const {
    return group(partitioner, partitioner.n_rows(),
                 [&](int c, int i) { return partitioner.column(c).code[i]; });
  }
  std::vector<std::vector<int>> group(const Partitioner& partitioner, const std::vector<std::int32_t>& code, int n) const {
    return group(partitioner, n, [&](int c, int i) { return code[static_cast<std::size_t>(c) * n + i]; });
  }

 private:
  template <class Code>
  std::vector<std::vector<int>> group(const Partitioner& partitioner, int n, Code&& code) const {
    std::vector<std::vector<int>> rows(n_leaves_);
    for (int i = 0; i < n; ++i) rows[leaf(partitioner, [&](int c) { return code(c, i); })].push_back(i);
    return rows;
  }

  struct FlatNode {
    Rule rule;
    int right, leaf;
  };

  void read(const DrawsView& draws, std::int64_t& node, std::int64_t end, int n_columns, int depth) {
    if (node >= end || depth > depth_limit) throw std::invalid_argument("draws: a tree's nodes are not a preorder list");
    const Rule rule{draws.column[node], draws.cut[node]};
    if (rule.column >= n_columns) throw std::invalid_argument("draws: a tree splits on a column that does not exist");
    ++node;
    const std::size_t at = nodes_.size();
    nodes_.push_back({rule, 0, 0});
    if (rule.column < 0) {
      nodes_[at].leaf = n_leaves_++;
      return;
    }
    read(draws, node, end, n_columns, depth + 1);
    nodes_[at].right = static_cast<int>(nodes_.size());
    read(draws, node, end, n_columns, depth + 1);
  }

  std::vector<FlatNode> nodes_;
  int n_leaves_ = 0;
};

}  // namespace treedgp
