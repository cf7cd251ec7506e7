# SPDX-License-Identifier: GPL-2.0-only
# What R computes of its own data sets, for test_reference_r.py: a line of NAME,VALUE each.
# Only the packages base, stats and datasets. Run it with
#   Rscript --vanilla experiments/analysis/tests/reference.R >experiments/analysis/tests/reference-r.csv
# Data: sleep (Student 1908), warpbreaks (Tippett 1950), ToothGrowth (Crampton 1947),
# lh (Diggle 1990); see help(NAME) in R for each.

say <- function(name, ...) for (value in c(...)) cat(name, ",", format(value, digits = 15, scientific = TRUE), "\n", sep = "")

a <- sleep$extra[sleep$group == 1]
b <- sleep$extra[sleep$group == 2]

one <- t.test(a)
say("t_interval", one$estimate, one$conf.int)
two <- t.test(b, a)
say("welch", two$estimate[1] - two$estimate[2], two$conf.int, two$statistic, two$parameter, two$p.value)
pair <- t.test(b, a, paired = TRUE)
say("paired", mean(b - a), pair$conf.int, pair$statistic, pair$parameter, pair$p.value)

# Fieller: the ratios at which the test of mean(x) - r mean(y) turns; weights and plants, whose means are far from 0.
x <- ToothGrowth$len[ToothGrowth$dose == 2]; y <- ToothGrowth$len[ToothGrowth$dose == 1]
turns <- function(r, v, df) abs(mean(x) - r * mean(y)) - qt(0.975, df) * sqrt(v(r))
limits <- function(v, df) {
  r <- mean(x) / mean(y)
  c(r, uniroot(turns, c(0.2, r), v, df, tol = 1e-13)$root, uniroot(turns, c(r, 5), v, df, tol = 1e-13)$root)
}
va <- var(x) / 20; vb <- var(y) / 20; r <- mean(x) / mean(y)
say("fieller", limits(function(r) va + r^2 * vb, (va + r^2 * vb)^2 / (va^2 / 19 + (r^2 * vb)^2 / 19)))
say("fieller_paired", limits(function(r) va + r^2 * vb - 2 * r * cov(x, y) / 20, 19))

say("holm", p.adjust(c(0.01, 0.04, 0.03, 0.005, 0.2, 0.011), "holm"))

# Speed-ups by blocks: y is the baseline of x, where more is better (fieller_paired); AL is that of AH, where less is.
al <- warpbreaks$breaks[1:9]; ah <- warpbreaks$breaks[19:27]
inverse <- function(both, df) function(r) {
  v <- var(al) / 9 + r^2 * var(ah) / 9 - 2 * r * both / 9
  abs(mean(al) - r * mean(ah)) - qt(0.975, df) * sqrt(v)
}
turns <- function(f, s) c(s, uniroot(f, c(0.5, s), tol = 1e-13)$root, uniroot(f, c(s, 9), tol = 1e-13)$root)
s <- turns(inverse(cov(al, ah), 8), mean(al) / mean(ah))
say("speedup_less", s)
say("speedup_p", p.adjust(c(t.test(x, y, paired = TRUE)$p.value, t.test(al, ah, paired = TRUE)$p.value), "holm"))

# Their geometric mean: Student's interval of the common blocks' mean logarithms.
blocks <- t.test((log(x / y)[1:9] + log(al / ah)) / 2)
say("geometric_mean", exp(c(blocks$estimate, blocks$conf.int)))

# The price: seconds of moving, and the work after which they are paid, by solving t = seconds + t / speed-up.
moving <- t.test(lh[1:9])
say("cost", moving$estimate, moving$conf.int, mean(4096 * (1:9)))
even <- function(seconds, speed) uniroot(function(t) t - seconds - t / speed, c(0, 1e6), tol = 1e-12)$root
say("break_even", even(moving$estimate, s[1]), even(moving$conf.int[1], s[3]))

# Boots: the means of warpbreaks' levels of tension, and Student's interval of them.
boots <- tapply(warpbreaks$breaks, warpbreaks$tension, mean)
say("boots", boots, t.test(boots)$conf.int)

# Deviation in parts of the mean, pooled over the six cells of warpbreaks; chi-squared at 5 % / 6.
cells <- split(warpbreaks$breaks, list(warpbreaks$wool, warpbreaks$tension))
parts <- unlist(lapply(cells, function(c) (c / mean(c) - 1)^2))
say("pooled", sqrt(sum(parts) / 48), sqrt(sum(parts) / qchisq(c(1 - 0.05 / 12, 0.05 / 12), 48)))
