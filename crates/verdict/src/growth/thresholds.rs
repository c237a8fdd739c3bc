//! Every bound of the classifier in one table, each with where it comes from.
//!
//! They were fixed before the synthetic curves of `tests/growth.rs` were drawn; moving one means
//! running those again with fresh seeds.

/// Bins along the axis, geometric: eight over two decades is the least that separates log n from
/// n; three times as many keep a dip inside one bin from becoming a class.
pub(super) const BINS: usize = 24;

/// Points that each pass must have in each bin: the median of five survives two spikes.
pub(super) const POINTS_PER_BIN: usize = 5;

/// The axis must span this many times its beginning (a decade and a half), else nothing is said: a
/// class is a statement about growth, and over less than that log n and n look alike.
pub(super) const SPAN: f64 = 30.0;

/// Passes without which no class is named: the t quantile of two is above 6.
pub(super) const PASSES: usize = 3;

/// Flat: the upper 95 % bound of the end over the beginning. An equivalence bound, chosen: a
/// quarter over two decades is less than the difference between two machines of one type.
pub(super) const FLAT_RATIO: f64 = 1.25;

/// Flat too: the lower bound of the same ratio, as far below one as the other is above it.
pub(super) const FLAT_FALL: f64 = 1.0 / FLAT_RATIO;

/// Growing: the lower 95 % bound of the same ratio. Between the two bounds the answer is
/// *between*, so that a rerun that lands on the other side does not contradict.
pub(super) const GROWING_RATIO: f64 = 1.35;

/// Falling: the upper bound of the same ratio, as far from flat as growing is.
pub(super) const FALLING_RATIO: f64 = 1.0 / GROWING_RATIO;

/// One-sided confidence of all these bounds.
pub(super) const CONFIDENCE: f64 = 0.95;

/// Akaike weight from which a class may be named (Burnham and Anderson 2002, section 2.9).
pub(super) const AKAIKE_WEIGHT: f64 = 0.9;

/// A class with less weight than this is not among those *between* which the answer lies.
pub(super) const AKAIKE_NEGLIGIBLE: f64 = 0.01;

/// A named class must also leave this many times less squared error, left-out bin by left-out bin,
/// than any other: bins of real curves err together, and Akaike's weight takes them for
/// independent.
pub(super) const CROSS_VALIDATION_MARGIN: f64 = 1.8;

/// Where no class is named, one that leaves at most this many times the least error is possible.
pub(super) const NOT_EXCLUDED: f64 = 4.0;

/// The last octave of a named class may differ from the fit by this factor.
pub(super) const LAST_OCTAVE: f64 = 1.15;

/// The root mean square error of a named curve, relative to its values, and relative to the
/// logarithm of how much it grows: beyond both no model describes what was seen.
pub(super) const MISFIT: f64 = 0.1;
/// See [`MISFIT`].
pub(super) const MISFIT_OF_GROWTH: f64 = 0.15;

/// Bins that a step needs on each side, so that a spike in the last one is not a step.
pub(super) const STEP_BINS: usize = 3;

/// Where other programs used more than this share of the probe's CPUs meanwhile, no growth is
/// named: a call that waits for a stranger is dearer, and looks like a branch or a step.
pub(super) const BUSY_ELSEWHERE: f64 = 0.1;

/// Two branches: the share of points on the rarer one, for yes and for perhaps. Every sixteenth
/// call fetching a fresh page of a kernel cache is 6 %, and is a spike.
pub(super) const BRANCH_SHARE: (f64, f64) = (0.2, 0.12);

/// How far apart they are, in units of their widths (the two central halves added), for yes and for
/// perhaps: an even distribution cut in its middle has 2, a normal one 1.6.
pub(super) const BRANCH_SEPARATION: (f64, f64) = (4.0, 3.0);

/// How many times dearer the upper branch is, at least.
pub(super) const BRANCH_RATIO: f64 = 1.3;

/// In which share of the bins that have enough points both must be seen, for yes and for perhaps.
pub(super) const BRANCH_BINS: (f64, f64) = (0.34, 0.2);

/// Points of one pass that a bin needs before branches are looked for.
pub(super) const BRANCH_POINTS: usize = 20;
