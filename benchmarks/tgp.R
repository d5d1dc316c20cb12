# Runs one model of R's tgp and writes its traces; called by peers.py.
# Arguments: data.csv (inputs, then y), xx.csv, model, burn-in, total, every, seed, output.csv, basemax, splitmin.
suppressMessages(library(tgp))
a <- commandArgs(trailingOnly = TRUE)
d <- as.matrix(read.csv(a[1]))
X <- d[, -ncol(d), drop = FALSE]
Z <- d[, ncol(d)]
BTE <- as.integer(a[4:6])
set.seed(as.integer(a[7]))
arguments <- list(X = X, Z = Z, BTE = BTE, R = 1, verb = 0, pred.n = FALSE)
traced <- a[2] != "none"
if (traced) arguments <- c(arguments, list(XX = as.matrix(read.csv(a[2])), trace = TRUE))
if (a[9] != "none") arguments <- c(arguments, list(basemax = as.integer(a[9]), splitmin = as.integer(a[10])))
before <- proc.time()
fit <- do.call(a[3], arguments)
spent <- proc.time() - before
if (traced) {
  post <- fit$trace$post
  write.csv(cbind(leaves = post$leaves, log_posterior = post$lpost, fit$trace$preds$ZZ.km), a[8], row.names = FALSE)
}
cat(sprintf("cpu %.4f\n", spent[["user.self"]] + spent[["sys.self"]]))
cat(sprintf("version tgp %s, %s, BLAS %s\n", packageVersion("tgp"), R.version.string,
            basename(dirname(extSoftVersion()[["BLAS"]]))))
