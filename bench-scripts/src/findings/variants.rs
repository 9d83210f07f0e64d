//! What it does to one program to be run or built otherwise.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Estimate;

/// An entrant compared with another one of the same program and as many threads: the plain one, which stands first in the matrix.
#[derive(Clone, Debug, Deserialize, JsonSchema, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
pub struct VariantFindings {
    /// Label of the variant; or of the plain entrant's repetition, which shows what no change looks like.
    pub label: String,
    /// Label of the plain entrant.
    pub plain: String,
    /// Its cost ÷ the plain entrant's in the same block, per connection count, ascending: the geometric mean over blocks.
    pub points: Vec<VariantPoint>,
    /// The same over all blocks and connection counts.
    pub overall: Option<Estimate>,
    /// Whether the overall ratio is proven not to be 1. In a whole run the chance that one of these or more is false is 5%.
    pub differs: bool,
}

/// A variant at one connection count.
#[derive(Clone, Copy, Debug, Deserialize, JsonSchema, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
pub struct VariantPoint {
    /// Connections asked for.
    pub connections_asked: u32,
    /// Cost ÷ the plain entrant's; none without a block that has both.
    pub cost_ratio: Option<Estimate>,
}
