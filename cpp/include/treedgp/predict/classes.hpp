// Class probabilities and votes at new rows, one draw at a time.
//
// Given a draw the latents at a row are independent normals (nugget included). The probability of a class is the mean of
// the softmax over them; its vote is the probability that its latent is the largest. Two classes: one-dimensional
// integrals; more: the same normal nodes for every row.
#pragma once
#include <numbers>

#include "treedgp/predict/predict.hpp"

namespace treedgp {

inline double expit(double x) { return 1 / (1 + std::exp(-x)); }
inline double normal_upper(double x) { return 0.5 * std::erfc(x / std::numbers::sqrt2); }

// sum_k w(hk) f(hk) / sum_k w(hk), k = -K .. K: the trapezoidal rule, which converges geometrically here.
template <class Weight, class F>
double weighted_mean(double h, int K, Weight&& weight, F&& f) {
  double total = 0, sum = 0;
  for (int k = -K; k <= K; ++k) {
    const double w = weight(h * k);
    total += w;
    sum += w * f(h * k);
  }
  return sum / total;
}

// E expit(mean + sd Z), Z standard normal: over Z where the logistic curve is flat beside the normal, else over the
// logistic law. Error < 1e-9.
inline double mean_expit(double mean, double sd) {
  if (sd < 1.5)
    return weighted_mean(0.5, 17, [](double z) { return std::exp(-0.5 * z * z); },
                         [&](double z) { return expit(mean + sd * z); });
  return weighted_mean(0.7, 32, [](double t) { return expit(t) * expit(-t); },
                       [&](double t) { return normal_upper(-(mean + t) / sd); });
}

// mean, var: (M-1) moments of the latents at a row. probability, vote: (M).
inline void class_shares(const double* mean, const double* var, int classes, const std::vector<double>& nodes,
                         double* probability, double* vote) {
  const int latents = classes - 1;
  if (classes == 2) {
    const double sd = std::sqrt(var[0]);
    const int likely = mean[0] > 0 ? 0 : 1;  // the integral is of the other, so that none falls outside 0 .. 1
    probability[1 - likely] = mean_expit(-std::abs(mean[0]), sd);
    probability[likely] = 1 - probability[1 - likely];
    vote[0] = sd > 0 ? normal_upper(-mean[0] / sd) : (mean[0] > 0);
    vote[1] = 1 - vote[0];
    return;
  }
  std::fill_n(probability, classes, 0.0);
  std::fill_n(vote, classes, 0.0);
  const int n_nodes = static_cast<int>(nodes.size()) / latents;
  Vector f(classes);
  for (int k = 0; k < n_nodes; ++k) {
    double top = 0, sum = 0;
    int best = latents;
    for (int m = 0; m < latents; ++m) {
      f[m] = mean[m] + std::sqrt(var[m]) * nodes[static_cast<std::size_t>(k) * latents + m];
      if (f[m] > top) {
        top = f[m];
        best = m;
      }
    }
    f[latents] = 0;
    for (double& v : f) sum += v = std::exp(v - top);
    for (int c = 0; c < classes; ++c) probability[c] += f[c] / sum / n_nodes;
    vote[best] += 1.0 / n_nodes;
  }
}

// probability, vote: (n, M) of one draw, `draws` a view for each class but the base.
inline void predict_classes(const Problem& problem, const std::vector<DrawsView>& draws, std::int64_t draw,
                            const NewRows& fresh, const std::vector<double>& nodes, Workspace& ws, double* probability,
                            double* vote) {
  const int classes = problem.classes.count, latents = classes - 1;
  Vector mean(static_cast<std::size_t>(latents) * fresh.n), var(mean.size());
  for (int m = 0; m < latents; ++m)
    predict_leaves(problem, draws[m], draw, fresh, ws, [&](const LeafPredictor& leaf, const std::vector<int>& at) {
      for (std::size_t i = 0; i < at.size(); ++i) {
        const std::size_t to = static_cast<std::size_t>(at[i]) * latents + m;
        mean[to] = leaf.mean(i);
        var[to] = leaf.var_f(i) + leaf.noise();
      }
    });
  for (std::size_t i = 0; i < static_cast<std::size_t>(fresh.n); ++i)
    class_shares(&mean[i * latents], &var[i * latents], classes, nodes, probability + i * classes, vote + i * classes);
}

// The same for leaves of class counts: the posterior mean of the leaf's shares; the vote goes to the largest.
inline void predict_counts(const Problem& problem, const DrawsView& draws, std::int64_t draw, const NewRows& fresh,
                           double* probability, double* vote) {
  const int classes = problem.classes.count;
  const Router router(draws, draw, problem.partitioner.n_columns());
  const auto train = router.group(problem.partitioner), test = router.group(problem.partitioner, fresh.code, fresh.n);
  for (int l = 0; l < router.n_leaves(); ++l) {
    const auto counts = count_classes(problem.classes.label, classes, train[l]);
    const auto best = std::max_element(counts.begin(), counts.end()) - counts.begin();
    const double total = static_cast<double>(train[l].size()) + classes * dirichlet_weight;
    for (int i : test[l])
      for (int c = 0; c < classes; ++c) {
        probability[static_cast<std::size_t>(i) * classes + c] = (counts[c] + dirichlet_weight) / total;
        vote[static_cast<std::size_t>(i) * classes + c] = c == best;
      }
  }
}

}  // namespace treedgp
