//! Which silences in force apply to which alerts (spec: alert-router#listing).
//!
//! An expression of a silence can be large, and there can be thousands of them. So none is compiled before it is
//! needed: each silence first narrows the alerts by its literal matchers, then by one expression after the other, and
//! stops when no alert is left. [`Expressions`] keeps what was compiled, within a fixed memory.

use crate::{
    Labels, ListedSilence, Matcher, SilenceState,
    re2::{self, Regex},
};
use moka::sync::Cache;
use std::sync::Arc;
use uuid::Uuid;

/// Compiled expressions by their text. The least used ones go when they take too much memory.
#[derive(Clone, Debug)]
pub struct Expressions(Cache<String, Option<Arc<Regex>>>);

impl Expressions {
    /// Keeps at most this many bytes.
    pub fn new(bytes: usize) -> Expressions {
        let weight = |text: &String, regex: &Option<Arc<Regex>>| {
            let bytes = text.len() + regex.as_ref().map_or(0, |regex| regex.bytes()) + 128;
            u32::try_from(bytes).unwrap_or(u32::MAX)
        };
        let most = u64::try_from(bytes).unwrap_or(u64::MAX);
        Expressions(Cache::builder().weigher(weight).max_capacity(most).build())
    }

    /// The compiled expression; `None` if it cannot be compiled.
    pub fn get(&self, text: &str) -> Option<Arc<Regex>> {
        self.0.get_with_by_ref(text, || re2::anchored(text).ok().map(Arc::new))
    }

    /// The compiled size of the expressions of these matchers, in bytes; stops counting beyond `most`.
    pub fn size<'m>(&self, matchers: impl IntoIterator<Item = &'m Matcher>, most: usize) -> usize {
        let mut size = 0;
        for matcher in matchers.into_iter().filter(|m| m.op.is_regex()) {
            size += self.get(&matcher.value).map_or(0, |regex| regex.bytes());
            if size > most {
                break;
            }
        }
        size
    }

    /// The bytes that are kept now.
    pub fn bytes(&self) -> u64 {
        self.0.run_pending_tasks();
        self.0.weighted_size()
    }
}

/// A silence in force.
#[derive(Clone, Debug)]
pub struct ActiveSilence {
    /// Its id.
    pub id: Uuid,
    /// Literal ones first.
    matchers: Vec<Matcher>,
}

impl ActiveSilence {
    /// Ready to be applied; nothing is compiled yet.
    pub fn new(id: Uuid, matchers: &[Matcher]) -> ActiveSilence {
        let mut matchers = matchers.to_vec();
        matchers.sort_by_key(|m| m.op.is_regex());
        ActiveSilence { id, matchers }
    }

    /// Keeps those of the label sets, given by their index, that it silences. A silence with an expression that cannot
    /// be compiled, which only another program can have written, silences none.
    fn retain_matching(&self, left: &mut Vec<usize>, sets: &[&Labels], expressions: &Expressions) {
        for matcher in &self.matchers {
            if left.is_empty() {
                return;
            }
            let value =
                |index: &usize| sets.get(*index).map(|set| set.value(&matcher.name)).unwrap_or_default();
            let wanted = matcher.op.is_equal();
            if !matcher.op.is_regex() {
                left.retain(|index| (value(index) == matcher.value) == wanted);
            } else if let Some(regex) = expressions.get(&matcher.value) {
                let mut is_match = regex.scan();
                left.retain(|index| is_match(value(index)) == wanted);
            } else {
                left.clear();
            }
        }
    }

    fn has_expression(&self) -> bool {
        self.matchers.last().is_some_and(|m| m.op.is_regex())
    }
}

/// The silences of a list that are in force.
pub fn active_silences<'s>(silences: impl IntoIterator<Item = &'s ListedSilence>) -> Vec<ActiveSilence> {
    let active = silences.into_iter().filter(|s| s.status.state == SilenceState::Active);
    active.map(|s| ActiveSilence::new(s.id, &s.matchers)).collect()
}

/// For each label set the ids of the silences that apply to it, sorted.
pub fn silenced_by(
    sets: &[&Labels],
    silences: &[ActiveSilence],
    expressions: &Expressions,
) -> Vec<Vec<String>> {
    let mut ordered: Vec<&ActiveSilence> = silences.iter().collect();
    ordered.sort_unstable_by_key(|silence| silence.id);
    let mut found = vec![Vec::new(); sets.len()];
    for silence in ordered {
        let mut left = (0..sets.len()).collect();
        silence.retain_matching(&mut left, sets, expressions);
        for index in left {
            if let Some(ids) = found.get_mut(index) {
                ids.push(silence.id.to_string());
            }
        }
    }
    found
}

/// For each label set whether any silence applies to it. A set that one silence has taken is not judged by the others,
/// and silences without expressions come first.
pub fn is_silenced(sets: &[&Labels], silences: &[ActiveSilence], expressions: &Expressions) -> Vec<bool> {
    let mut is_silenced = vec![false; sets.len()];
    let mut others: Vec<usize> = (0..sets.len()).collect();
    let mut ordered: Vec<&ActiveSilence> = silences.iter().collect();
    ordered.sort_by_key(|silence| silence.has_expression());
    for silence in ordered {
        let mut left = others.clone();
        silence.retain_matching(&mut left, sets, expressions);
        for index in left {
            if let Some(one) = is_silenced.get_mut(index) {
                *one = true;
            }
        }
        others.retain(|index| !is_silenced.get(*index).copied().unwrap_or_default());
    }
    is_silenced
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Op;

    fn matcher(name: &str, op: Op, value: &str) -> Matcher {
        Matcher { name: name.into(), value: value.into(), op }
    }

    /// Silences whose first expression is large and different in each.
    fn expensive(count: usize) -> Vec<ActiveSilence> {
        let each = |n: usize| {
            let first = matcher("a", Op::Regex, &format!(r"\PL{{12}}|x{n}|.*"));
            ActiveSilence::new(Uuid::from_u128(n as u128), &[first, matcher("b", Op::Equal, "c")])
        };
        (0..count).map(each).collect()
    }

    #[test]
    fn compiled_expressions_take_a_bounded_memory() {
        let expressions = Expressions::new(2 * 1024 * 1024);
        let one = re2::anchored(r"\PL{12}|x1|.*").unwrap().bytes();
        assert!(one > 64 * 1024, "{one} bytes");
        let silences = expensive(40);
        let labels: Labels = [("b", "c")].into_iter().collect();
        let found = silenced_by(&[&labels], &silences, &expressions);
        assert_eq!(found[0].len(), 40, "each applies, however little is kept");
        let memory = expressions.bytes();
        assert!(memory > 0 && memory <= 2 * 1024 * 1024, "{memory} bytes");
    }

    #[test]
    fn nothing_is_compiled_that_decides_nothing() {
        let expressions = Expressions::new(2 * 1024 * 1024);
        let other: Labels = [("b", "d")].into_iter().collect();
        assert_eq!(silenced_by(&[&other], &expensive(3), &expressions), [Vec::<String>::new()]);
        assert_eq!(is_silenced(&[&other], &expensive(3), &expressions), [false]);
        assert_eq!(silenced_by(&[], &expensive(3), &expressions), Vec::<Vec<String>>::new());
        assert_eq!(expressions.bytes(), 0);
        // A silence without expressions is asked first.
        let labels: Labels = [("b", "c")].into_iter().collect();
        let literal = ActiveSilence::new(Uuid::from_u128(9), &[matcher("b", Op::Equal, "c")]);
        let all = [expensive(3), vec![literal]].concat();
        assert_eq!(is_silenced(&[&labels, &other], &all, &expressions), [true, false]);
        assert_eq!(expressions.bytes(), 0);
    }

    #[test]
    fn silences_apply_to_some_label_sets() {
        let expressions = Expressions::new(1024 * 1024);
        let silence = |n, matchers: &[Matcher]| ActiveSilence::new(Uuid::from_u128(n), matchers);
        let silences = [
            silence(2, &[matcher("a", Op::Regex, "x|y"), matcher("b", Op::NotEqual, "1")]),
            silence(1, &[matcher("a", Op::NotRegex, "x")]),
            silence(3, &[matcher("a", Op::Regex, "["), matcher("b", Op::NotEqual, "9")]),
            silence(4, &[matcher("a", Op::NotRegex, "[")]),
        ];
        let sets: Vec<Labels> =
            [[("a", "x"), ("b", "1")], [("a", "x"), ("b", "2")], [("a", "y"), ("b", "2")]]
                .into_iter()
                .map(|pairs| pairs.into_iter().collect())
                .collect();
        let sets: Vec<&Labels> = sets.iter().collect();
        let id = |n| Uuid::from_u128(n).to_string();
        assert_eq!(silenced_by(&sets, &silences, &expressions), [vec![], vec![id(2)], vec![id(1), id(2)]]);
        assert_eq!(is_silenced(&sets, &silences, &expressions), [false, true, true]);
    }

    #[test]
    fn the_size_of_matchers_is_that_of_their_expressions() {
        let expressions = Expressions::new(1024 * 1024);
        let all =
            [matcher("a", Op::Equal, "x"), matcher("b", Op::Regex, "x|y"), matcher("c", Op::NotRegex, "z+")];
        let size = expressions.size(&all, usize::MAX);
        let sum = re2::anchored("x|y").unwrap().bytes() + re2::anchored("z+").unwrap().bytes();
        assert_eq!(size, sum);
        assert_eq!(
            expressions.size(&all, 1),
            re2::anchored("x|y").unwrap().bytes(),
            "stops beyond the limit"
        );
    }
}
