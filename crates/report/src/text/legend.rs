//! What the words of tables mean.

/// What the words of the tables mean, those that are there.
pub(super) fn legend(tables: &str) -> Vec<(&'static str, &'static str)> {
    let has = |text: &str| tables.contains(text);
    let mut legend = vec![(
        "[95 %]",
        "the interval of the median over rounds: of 100 such intervals, 95 hold the true median. \
         A number in round brackets is invalid and not a result. Servers stand in the order of \
         their medians; the answers above say which differences are more than chance",
    )];
    if has(" head ") {
        let rate = "right answers per second";
        legend.push(("rate/s", rate));
        let head = "headroom: how many times this rate the generator could have reached, in the \
                    worst round";
        legend.push(("head", head));
    }
    if has(" got/s ") {
        legend.push(("p50, p99", "response times from when a request was due"));
        let got = "right answers per second, of those that were asked for";
        legend.push(("got/s", got));
    }
    if has(">=") {
        let bound = "at least: the generator was the limit of a rate, or too few requests were \
                     answered to say more of a time. One that failed, or had no answer when the \
                     window ended, counts as longer than any answer and than the timeout";
        legend.push((">=", bound));
    }
    if has("…]") {
        legend.push(("…", "nobody knows where the interval ends"));
    }
    if has("*") {
        let some = "only some of the rounds have enough answers for this quantile";
        legend.push(("*", some));
    }
    if has("partial") {
        let partial = "valid, but some mandatory rule could not be evaluated";
        legend.push(("partial", partial));
    }
    let sharp = "the interval reaches at most 3 % to either side of the first number; fair: at \
                 most 10 %; rough: further, or unknown. A rough number can be valid";
    legend.push(("sharp", sharp));
    legend
}
