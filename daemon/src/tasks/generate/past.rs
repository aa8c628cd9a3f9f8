//! The generations that the ledger records.

use scene_schemas::Fingerprint;
use scene_schemas::entry::{Entry, Record, Seq};
use scene_schemas::generation::{GenerationOffer, GenerationRequest, GenerationStage};
use vector_engine::budget::day_number;
use vector_ledger::{Ledger, LedgerError};

/// How a generation ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum GenerationEnd {
    /// The model is in this blob.
    Made {
        model: Fingerprint,
        size: u64,
        credits: u64,
    },
    Failed {
        reason: String,
        credits: u64,
    },
}

/// A model that was generated, now or before.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MadeModel {
    pub generation: Seq,
    /// The blob with the model, in the format GLB.
    pub model: Fingerprint,
    pub size: u64,
    pub credits: u64,
}

/// A generation that was begun.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PastGeneration {
    pub seq: Seq,
    pub workflow: Seq,
    /// When it began, in milliseconds since 1970.
    pub at: u64,
    pub offer: GenerationOffer,
    /// The id of the task that makes the shape, once Meshy has begun it.
    pub preview: Option<String>,
    /// Whether the task that makes the colors was sent.
    pub is_refining: bool,
    /// The id of the task that makes the colors.
    pub refine: Option<String>,
    /// None if it goes on at Meshy, or was interrupted.
    pub end: Option<GenerationEnd>,
}

impl PastGeneration {
    /// Returns the model of the generation. None if it has none.
    pub fn made_model(&self) -> Option<MadeModel> {
        match &self.end {
            Some(GenerationEnd::Made { model, size, credits }) => Some(MadeModel {
                generation: self.seq,
                model: model.clone(),
                size: *size,
                credits: *credits,
            }),
            Some(GenerationEnd::Failed { .. }) | None => None,
        }
    }

    /// Returns the credits that it cost, or may have cost.
    pub fn credits(&self) -> u64 {
        match &self.end {
            Some(GenerationEnd::Made { credits, .. } | GenerationEnd::Failed { credits, .. }) => {
                *credits
            }
            None => u64::from(self.offer.credits),
        }
    }
}

/// The generations in a ledger, in their order.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Generations {
    pub all: Vec<PastGeneration>,
}

impl Generations {
    /// Reads the generations of a ledger.
    pub fn read(ledger: &Ledger) -> Result<Self, LedgerError> {
        let mut history = Self::default();
        for record in ledger.generations()? {
            history.add(record);
        }
        Ok(history)
    }

    fn add(&mut self, record: Record) {
        let Record { seq, workflow, at, entry, .. } = record;
        match entry {
            Entry::GenerationStarting { generation } => self.all.push(PastGeneration {
                seq,
                workflow,
                at,
                offer: *generation,
                preview: None,
                is_refining: false,
                refine: None,
                end: None,
            }),
            Entry::GenerationAccepted { generation, stage, task } => {
                if let Some(past) = self.find_mut(generation) {
                    match stage {
                        GenerationStage::Preview => past.preview = Some(task),
                        GenerationStage::Refine => past.refine = Some(task),
                    }
                }
            }
            Entry::GenerationRefining { generation } => {
                if let Some(past) = self.find_mut(generation) {
                    past.is_refining = true;
                }
            }
            Entry::Generated { generation, model, size, credits } => {
                self.end(generation, GenerationEnd::Made { model, size, credits });
            }
            Entry::GenerationFailed { generation, reason, credits } => {
                self.end(generation, GenerationEnd::Failed { reason, credits });
            }
            _ => {}
        }
    }

    fn end(&mut self, generation: Seq, end: GenerationEnd) {
        if let Some(past) = self.find_mut(generation) {
            past.end = Some(end);
        }
    }

    fn find_mut(&mut self, generation: Seq) -> Option<&mut PastGeneration> {
        self.all.iter_mut().rev().find(|past| past.seq == generation)
    }

    /// Returns a generation by the position of its first entry.
    pub fn find(&self, generation: Seq) -> Option<&PastGeneration> {
        self.all.iter().rev().find(|past| past.seq == generation)
    }

    /// Returns the newest generation of the same request that has a model, or has not ended.
    pub fn find_same(&self, request: &GenerationRequest) -> Option<&PastGeneration> {
        let is_usable = |past: &PastGeneration| {
            !matches!(past.end, Some(GenerationEnd::Failed { .. }))
                && past.offer.request == *request
        };
        self.all.iter().rev().find(|past| is_usable(past))
    }

    /// Returns the credits that were spent, or may have been, on the same request without a model.
    pub fn lost_credits(&self, request: &GenerationRequest) -> u64 {
        let of_same = self.all.iter().filter(|past| past.offer.request == *request);
        let failed = of_same.filter(|past| matches!(past.end, Some(GenerationEnd::Failed { .. })));
        failed.map(PastGeneration::credits).sum()
    }

    /// Returns the credits of the generations that began on a UTC day, by its number since 1970.
    pub fn credits_of_day(&self, day: u64) -> u64 {
        let of_day = self.all.iter().filter(|past| day_number(past.at) == day);
        of_day.map(PastGeneration::credits).sum()
    }
}
