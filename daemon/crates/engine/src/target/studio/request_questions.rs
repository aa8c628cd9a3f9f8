//! Questions to Studio that a person's request asks, beside those of plans. The request waits for
//! the answer on another thread.

use std::collections::BTreeMap;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Weak};
use std::time::Instant;

use scene_schemas::api::PluginAnswer;

/// The questions by their numbers, each with the receiver of its answer, and whether somebody still
/// waits for it.
#[derive(Debug, Clone, Default)]
pub(super) struct RequestQuestions(BTreeMap<u64, (Sender<PluginAnswer>, Weak<()>)>);

/// The answer to a question of a person's request. Dropping it withdraws the question.
#[derive(Debug)]
pub struct AwaitedAnswer {
    answers: Receiver<PluginAnswer>,
    _awaited: Arc<()>,
}

impl AwaitedAnswer {
    /// Waits for the answer.
    ///
    /// # Errors
    /// There is no answer until then, or the plugin was restarted.
    pub fn wait_until(&self, until: Instant) -> Result<PluginAnswer, RecvTimeoutError> {
        self.answers.recv_timeout(until.saturating_duration_since(Instant::now()))
    }
}

impl RequestQuestions {
    pub(super) fn add(&mut self, number: u64) -> AwaitedAnswer {
        let (sender, answers) = channel();
        let awaited = Arc::new(());
        self.0.insert(number, (sender, Arc::downgrade(&awaited)));
        AwaitedAnswer { answers, _awaited: awaited }
    }

    pub(super) fn contains(&self, number: u64) -> bool {
        self.0.contains_key(&number)
    }

    /// Passes on an answer. Returns false if it is not the answer to one of these questions.
    pub(super) fn answer(&mut self, number: u64, answer: &PluginAnswer) -> bool {
        let Some((sender, _)) = self.0.remove(&number) else {
            return false;
        };
        // Nobody waits for an answer that came too late.
        let _ = sender.send(answer.clone());
        true
    }

    /// Removes the questions whose answers nobody waits for any more, and returns their numbers.
    pub(super) fn take_abandoned(&mut self) -> Vec<u64> {
        let is_abandoned = |awaited: &Weak<()>| awaited.strong_count() == 0;
        let all = self.0.iter();
        let numbers = all.filter(|(_, (_, awaited))| is_abandoned(awaited)).map(|(it, _)| *it);
        let numbers: Vec<u64> = numbers.collect();
        for number in &numbers {
            self.0.remove(number);
        }
        numbers
    }

    pub(super) fn clear(&mut self) {
        self.0.clear();
    }
}
