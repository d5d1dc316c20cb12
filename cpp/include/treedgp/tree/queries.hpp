// Lists of nodes that moves choose from, in preorder.
#pragma once
#include <vector>

#include "treedgp/tree/tree.hpp"

namespace treedgp {

template <class Visit>
void visit_preorder(const Position& p, Visit&& visit) {
  visit(p);
  if (p.node->is_leaf()) return;
  visit_preorder(child(p, false), visit);
  visit_preorder(child(p, true), visit);
}

template <class Wanted>
std::vector<Position> select(const NodePtr& root, Wanted&& wanted) {
  std::vector<Position> found;
  visit_preorder(Position{root}, [&](const Position& p) {
    if (wanted(p)) found.push_back(p);
  });
  return found;
}

inline std::vector<Position> leaves(const NodePtr& root) {
  return select(root, [](const Position& p) { return p.node->is_leaf(); });
}

inline std::vector<Position> internal_nodes(const NodePtr& root) {
  return select(root, [](const Position& p) { return !p.node->is_leaf(); });
}

inline std::vector<Position> internal_below_root(const NodePtr& root) {
  return select(root, [](const Position& p) { return !p.node->is_leaf() && p.depth > 0; });
}

inline std::vector<Position> prunable(const NodePtr& root) {
  return select(root, [](const Position& p) {
    return !p.node->is_leaf() && p.node->left->is_leaf() && p.node->right->is_leaf();
  });
}

}  // namespace treedgp
