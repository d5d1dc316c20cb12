// A leaf of class counts: shares ~ Dirichlet(1, ..., 1), labels given the shares independent.
#pragma once
#include <vector>

#include "treedgp/linalg/special.hpp"

namespace treedgp {

constexpr double dirichlet_weight = 1;

inline std::vector<int> count_classes(const std::vector<int>& label, int classes, const std::vector<int>& rows) {
  std::vector<int> counts(classes);
  for (int i : rows) ++counts[label[i]];
  return counts;
}

// log p(labels of these rows), the shares integrated out: log B(n + a) - log B(a)
inline double log_class_counts(const std::vector<int>& label, int classes, const std::vector<int>& rows) {
  const double a = dirichlet_weight;
  double sum = log_gamma(classes * a) - log_gamma(classes * a + static_cast<double>(rows.size()));
  for (int c : count_classes(label, classes, rows)) sum += log_gamma(a + c) - log_gamma(a);
  return sum;
}

}  // namespace treedgp
