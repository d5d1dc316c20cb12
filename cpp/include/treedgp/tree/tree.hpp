// An immutable binary tree over regions. A changed tree shares every untouched node with the old one.
// Leaf models live outside, in a vector in left-to-right order (state/state.hpp).
#pragma once
#include <cstdint>
#include <memory>

#include "treedgp/tree/partition.hpp"

namespace treedgp {

struct Node;
using NodePtr = std::shared_ptr<const Node>;

struct Node {
  RegionPtr region;
  Rule rule;            // of an internal node
  NodePtr left, right;  // both null in a leaf
  int n_leaves = 1;

  bool is_leaf() const { return !left; }
};

inline NodePtr make_leaf(RegionPtr region) {
  return std::make_shared<Node>(Node{std::move(region), {}, nullptr, nullptr, 1});
}

inline NodePtr make_internal(RegionPtr region, const Rule& rule, NodePtr left, NodePtr right) {
  const int n_leaves = left->n_leaves + right->n_leaves;
  return std::make_shared<Node>(Node{std::move(region), rule, std::move(left), std::move(right), n_leaves});
}

// A node's place in its tree. Bit i of `path` is the turn taken at depth i: 0 left, 1 right.
struct Position {
  NodePtr node;
  int depth = 0;
  std::uint64_t path = 0;
  int first_leaf = 0;  // index of the leftmost leaf below
};

constexpr int depth_limit = 60;  // a path fits in 64 bits

inline Position child(const Position& p, bool right) {
  return {right ? p.node->right : p.node->left, p.depth + 1, p.path | std::uint64_t{right} << p.depth,
          p.first_leaf + (right ? p.node->left->n_leaves : 0)};
}

inline Position at_path(const NodePtr& root, std::uint64_t path, int depth) {
  Position p{root};
  while (p.depth < depth) p = child(p, path >> p.depth & 1);
  return p;
}

inline Position parent(const NodePtr& root, const Position& p) { return at_path(root, p.path, p.depth - 1); }

// The tree with the node at `where` replaced.
inline NodePtr graft(const NodePtr& root, const Position& where, NodePtr subtree, int depth = 0) {
  if (depth == where.depth) return subtree;
  const bool right = where.path >> depth & 1;
  NodePtr next = graft(right ? root->right : root->left, where, std::move(subtree), depth + 1);
  return right ? make_internal(root->region, root->rule, root->left, std::move(next))
               : make_internal(root->region, root->rule, std::move(next), root->right);
}

// `shape`'s rules, position by position, on another region; null if one is inadmissible there.
inline NodePtr reapply(const Partitioner& partitioner, const NodePtr& shape, const RegionPtr& region) {
  if (region == shape->region && shape->is_leaf()) return shape;
  if (shape->is_leaf()) return make_leaf(region);
  if (!region->admits(shape->rule)) return nullptr;
  const auto [left_region, right_region] = partitioner.divide(*region, shape->rule);
  NodePtr left = reapply(partitioner, shape->left, left_region);
  if (!left) return nullptr;
  NodePtr right = reapply(partitioner, shape->right, right_region);
  return right ? make_internal(region, shape->rule, std::move(left), std::move(right)) : nullptr;
}

}  // namespace treedgp
