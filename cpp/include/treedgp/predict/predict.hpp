// Predictive moments of f at new rows, one draw at a time.
#pragma once
#include "treedgp/predict/leaf_predictor.hpp"
#include "treedgp/predict/route.hpp"

namespace treedgp {

// Calls visit(predictor, rows) for each leaf of a draw that holds new rows.
template <class Visit>
void predict_leaves(const Problem& problem, const DrawsView& draws, std::int64_t draw, const NewRows& fresh,
                    Workspace& ws, Visit&& visit) {
  const Router router(draws, draw, problem.partitioner.n_columns());
  const auto train = router.group(problem.partitioner), test = router.group(problem.partitioner, fresh.code, fresh.n);
  const Hyper hyper = draws.hyper_of(draw);
  const Response response = draws.response_of(draw, problem);
  for (int l = 0; l < router.n_leaves(); ++l) {
    if (test[l].empty()) continue;
    const std::int64_t leaf = draws.first_leaf(draw) + l;
    const LeafParams params = draws.params(leaf);
    visit(LeafPredictor(problem, response, train[l], params, hyper, fresh, test[l], ws), test[l]);
  }
}

// mean, var_f, var_y: (n) each, of draw `draw`.
inline void predict_moments(const Problem& problem, const DrawsView& draws, std::int64_t draw, const NewRows& fresh,
                            Workspace& ws, double* mean, double* var_f, double* var_y) {
  predict_leaves(problem, draws, draw, fresh, ws, [&](const LeafPredictor& leaf, const std::vector<int>& at) {
    for (std::size_t i = 0; i < at.size(); ++i) {
      mean[at[i]] = leaf.mean(i);
      var_f[at[i]] = leaf.var_f(i);
      var_y[at[i]] = var_f[at[i]] + leaf.noise();
    }
  });
}

// mean (n), noise (n), and the covariance of f (n, n): rows in different leaves are independent given the draw.
inline void predict_joint(const Problem& problem, const DrawsView& draws, std::int64_t draw, const NewRows& fresh,
                          Workspace& ws, double* mean, double* noise, double* cov) {
  const std::size_t n = fresh.n;
  std::fill_n(cov, n * n, 0.0);
  predict_leaves(problem, draws, draw, fresh, ws, [&](const LeafPredictor& leaf, const std::vector<int>& at) {
    const Matrix within = leaf.covariance();
    for (int i = 0; i < within.rows; ++i) {
      mean[at[i]] = leaf.mean(i);
      noise[at[i]] = leaf.noise();
      for (int j = 0; j < within.cols; ++j) cov[at[i] * n + at[j]] = within(i, j);
    }
  });
}

}  // namespace treedgp
