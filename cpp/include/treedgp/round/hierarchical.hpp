// Draws of what the leaves share: beta0, W, and the (a, g) of the variances' priors. beta0 and W say whether their
// matrix factorised; if not they stay.
#pragma once
#include "treedgp/moves/ratio.hpp"
#include "treedgp/round/tempo.hpp"

namespace treedgp {

// beta0 | beta_r, W ~ N(C W^-1 sum_r beta_r w_r, C),  C^-1 = I + W^-1 sum_r w_r,  w_r = 1/(sigma2_r tau2_r)
template <class Rng>
bool draw_beta0(Layer& s, Rng& rng) {
  Hyper& h = s.hyper;
  const int m = static_cast<int>(h.beta0.size());
  double total = 0;
  Vector weighted(m), mean(m), noise(m);
  for (const Leaf& leaf : s.leaves) {
    const double w = 1 / (leaf.params.sigma2 * leaf.params.tau2);
    total += w;
    for (int i = 0; i < m; ++i) weighted[i] += w * leaf.beta[i];
  }
  Matrix precision = Matrix::identity(m);
  for (int j = 0; j < m; ++j)
    for (int i = 0; i < m; ++i) {
      precision(i, j) += total * h.w_inv(i, j);
      mean[i] += h.w_inv(i, j) * weighted[j];
    }
  if (!cholesky(precision)) return false;
  for (double& e : noise) e = rng.normal();
  solve_lower(precision, mean);
  for (int i = 0; i < m; ++i) mean[i] += noise[i];
  solve_lower_transposed(precision, mean);
  h.beta0 = mean;
  return true;
}

// W^-1 | beta_r, beta0 ~ Wish(S^-1, rho + R),  S = rho V0 + sum_r (beta_r - beta0)(beta_r - beta0)' w_r
template <class Rng>
bool draw_w(Layer& s, Rng& rng) {
  Hyper& h = s.hyper;
  const int m = static_cast<int>(h.beta0.size());
  Matrix scale = Matrix::identity(m, wishart_dof(m) * wishart_v0);
  for (const Leaf& leaf : s.leaves) {
    const double w = 1 / (leaf.params.sigma2 * leaf.params.tau2);
    for (int j = 0; j < m; ++j)
      for (int i = 0; i < m; ++i) scale(i, j) += w * (leaf.beta[i] - h.beta0[i]) * (leaf.beta[j] - h.beta0[j]);
  }
  if (!cholesky(scale)) return false;
  const double dof = wishart_dof(m) + static_cast<double>(s.leaves.size());
  Matrix root(m, m);  // L^-T T, T Bartlett's lower factor: W^-1 = root root'
  for (int j = 0; j < m; ++j) {
    Vector column(m);
    column[j] = std::sqrt(2 * rng.gamma(0.5 * (dof - j)));
    for (int i = j + 1; i < m; ++i) column[i] = rng.normal();
    solve_lower_transposed(scale, column);
    for (int i = 0; i < m; ++i) root(i, j) = column[i];
  }
  Matrix w_inv(m, m);
  for (int j = 0; j < m; ++j)
    for (int i = 0; i < m; ++i)
      for (int t = 0; t < m; ++t) w_inv(i, j) += root(i, t) * root(j, t);
  return h.set_w_inv(std::move(w_inv));
}

// One random-walk step on log(value - floor) of a shape or rate. Returns the log target where it ends, given that of
// where it starts.
template <class Rng, class LogTarget>
double walk(double& value, double floor, double log_target_now, LogTarget&& log_target, Layer& s, Step step,
            const Tempo& tempo, Counts& counts, Rng& rng) {
  const double move = std::exp(s.log_step[step]) * rng.normal(), next = floor + (value - floor) * std::exp(move);
  const double log_target_next = log_target(next);
  const LogRatio ratio{.params_prior = log_target_next - log_target_now, .log_jacobian = move};
  const bool accepted = accept(ratio, 1, rng);
  if (accepted) value = next;
  counts.steps[step].add(accepted);
  tempo.adapt(s.log_step[step], accepted);
  return accepted ? log_target_next : log_target_now;
}

// A step of each of (a, g) that is learned.
template <class Rng, class LogTarget>
void walk_both(const InverseGammaPrior& prior, double& a, double& g, LogTarget&& log_target, Layer& s, Step a_step,
               Step g_step, const Tempo& tempo, Counts& counts, Rng& rng) {
  if (!prior.learn_a && !prior.learn_g) return;
  double now = log_target(a, g);
  if (prior.learn_a)
    now = walk(a, prior.a_floor, now, [&](double x) { return log_target(x, g); }, s, a_step, tempo, counts, rng);
  if (prior.learn_g)
    walk(g, prior.g_floor, now, [&](double x) { return log_target(a, x); }, s, g_step, tempo, counts, rng);
}

// (a_s, g_s) | Z with every sigma2 and beta integrated out: the sigma2 drawn next would otherwise hold them back.
template <class Rng>
void draw_noise_hyper(Layer& s, const std::vector<CoefficientPosterior>& posts, const Spec& spec, const Tempo& tempo,
                      Counts& counts, Rng& rng) {
  Hyper& h = s.hyper;
  double shape_a = 0, shape = 0;  // a > 2; a step of g leaves the shape's part as it is
  auto log_target = [&](double a, double g) {
    double sum = spec.sigma2.log_kernel(a, g) + static_cast<double>(posts.size()) * log_noise_scale(a, g);
    for (const auto& post : posts) sum += log_noise_fit(post.lambda, post.dof, a, g);
    if (a != std::exchange(shape_a, a)) {
      shape = 0;
      for (const auto& post : posts) shape += log_noise_shape(post.dof, a);
    }
    return sum + shape;
  };
  walk_both(spec.sigma2, h.a_sigma, h.g_sigma, log_target, s, a_sigma_step, g_sigma_step, tempo, counts, rng);
}

// (g_t, tau2_1 .. tau2_R) -> c times all of them, sigma2 and beta integrated out: the direction in which single
// updates crawl, since g_t and the tau2 hold each other in place.
template <class Rng>
void scale_tau2(Layer& s, const Problem& problem, const Tempo& tempo, Counts& counts, Rng& rng) {
  const InverseGammaPrior& prior = problem.spec.tau2;
  if (!problem.spec.leaf.tau2_random || !prior.learn_g) return;
  Hyper& h = s.hyper;
  const double log_c = std::exp(s.log_step[tau_scale_step]) * rng.normal(), c = std::exp(log_c);
  LogRatio ratio{.params_prior = prior.log_kernel(h.a_tau, c * h.g_tau) - prior.log_kernel(h.a_tau, h.g_tau),
                 .log_jacobian = (1.0 + s.leaves.size()) * log_c};
  for (const Leaf& leaf : s.leaves) {
    const double tau2 = leaf.params.tau2;
    ratio.likelihood += log_marginal(leaf.data, c * tau2, problem.spec.coefficients, h) -
                        log_marginal(leaf.data, tau2, problem.spec.coefficients, h);
    ratio.params_prior += log_inverse_gamma(c * tau2, h.a_tau, c * h.g_tau) - log_inverse_gamma(tau2, h.a_tau, h.g_tau);
  }
  const bool accepted = accept(ratio, 1, rng);
  if (accepted) {
    h.g_tau *= c;
    for (Leaf& leaf : s.leaves) leaf.params.tau2 *= c;
  }
  counts.steps[tau_scale_step].add(accepted);
  tempo.adapt(s.log_step[tau_scale_step], accepted);
}

// (a_t, g_t) | tau2_1 .. tau2_R, where tau2_r ~ IG(a_t/2, g_t/2).
template <class Rng>
void draw_tau2_hyper(Layer& s, const Spec& spec, const Tempo& tempo, Counts& counts, Rng& rng) {
  if (!spec.leaf.tau2_random) return;
  Hyper& h = s.hyper;
  auto log_target = [&](double a, double g) {
    double sum = spec.tau2.log_kernel(a, g);
    for (const Leaf& leaf : s.leaves) sum += log_inverse_gamma(leaf.params.tau2, a, g);
    return sum;
  };
  walk_both(spec.tau2, h.a_tau, h.g_tau, log_target, s, a_tau_step, g_tau_step, tempo, counts, rng);
}

}  // namespace treedgp
