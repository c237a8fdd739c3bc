//! What users of a script know: variables, cookies, and what they look for in answers.
//!
//! Only scripts that have such things cost anything here: a request whose bytes are fixed is sent
//! from where it lies, and an answer that nobody takes anything from is not looked at. What is
//! written for a user is written into memory that is used again; what grows is what users keep.

mod answer;
mod jar;
mod template;

use model::plan::{FromFile, Plan, ScriptFile, SourceFile, VariableFile};
use model::random::Random;
use model::units::{Instant, Span};
use wire::RequestId;

use self::answer::Reads;
pub(crate) use self::answer::fields;
use self::jar::Jar;
use self::template::{Names, Template};
use crate::exchange::Cause;

/// Of the content of an answer, so much is looked at.
pub(crate) const CONTENT_MAX: usize = 1 << 20;
/// The longest value that is taken from an answer.
pub(crate) const VALUE_MAX: usize = 4_096;
/// The most digits of a number.
const DIGITS: usize = 20;

/// What the users of one worker know.
#[derive(Debug)]
pub(crate) struct Sessions {
    /// By class: the requests whose bytes are not fixed.
    templates: Box<[Option<Template>]>,
    /// By class: what is looked for in answers.
    reads: Box<[Option<Reads>]>,
    variables: Box<[VariableFile]>,
    cookies: bool,
    seed: u64,
    worker: u64,
    workers: u64,
    /// Users of all workers.
    all: u64,
    /// Each goes through the script once: what is a round of others is another user.
    is_once: bool,
    /// By user.
    sessions: Box<[Session]>,
    /// Connections of each user.
    each: u32,
    /// By connection.
    heard: Box<[Heard]>,
    /// The most bytes that a user sends at once.
    pub(crate) longest: usize,
    /// When the run was prepared, since 1970, and when its first turn was.
    prepared: Span,
    first_turn: Option<Instant>,
    /// What time it is in this turn, since 1970: cookies are over at times of the day.
    now: Span,
}

/// What one user knows.
#[derive(Clone, Debug, Default)]
struct Session {
    /// By variable.
    values: Box<[Vec<u8>]>,
    jar: Jar,
    /// The round for which variables were drawn, from 1.
    round: u64,
}

/// The answer under way on a connection.
#[derive(Clone, Debug, Default)]
struct Heard {
    /// As far as anybody looks at it.
    content: Vec<u8>,
    /// A field that was to come did not.
    lacks_field: bool,
}

impl Sessions {
    /// Those of worker `index`; none where users know nothing.
    pub(crate) fn new(plan: &Plan, index: u32) -> Option<Self> {
        let file = plan.file();
        let script = file.script.as_ref().filter(|script| script.is_stateful())?;
        let names = names(script);
        // Not cloned: a clone of an empty vector has no room.
        let session = || Session {
            values: script
                .variables
                .iter()
                .map(|one| Vec::with_capacity(drawn_most(one)))
                .collect(),
            ..Session::default()
        };
        let prepared = sys::clock::realtime();
        Some(Self {
            templates: templates(plan, &names),
            reads: Reads::by_class(script, plan.requests().len(), &names.all),
            variables: script.variables.clone().into(),
            cookies: script.cookies,
            seed: file.seed,
            worker: u64::from(index),
            workers: u64::from(file.workers),
            all: u64::from(file.connections / file.user_connections()),
            is_once: script.arrivals.rate().is_some(),
            sessions: (0..plan.users_of(index)).map(|_| session()).collect(),
            each: file.user_connections(),
            heard: vec![Heard::default(); plan.connections_of(index) as usize].into(),
            longest: longest(plan),
            prepared,
            first_turn: None,
            now: prepared,
        })
    }

    /// A turn of the worker begins.
    pub(crate) fn begin_turn(&mut self, now: Instant) {
        let first = *self.first_turn.get_or_insert(now);
        self.now = self.prepared + now.saturating_since(first);
    }

    /// Whether the content of answers to `class` is looked at.
    pub(crate) fn read_content(&self, class: u16) -> bool {
        self.reads[usize::from(class)]
            .as_ref()
            .is_some_and(Reads::content)
    }

    /// Whose connection that in `place` is.
    const fn user(&self, place: u32) -> usize {
        (place / self.each) as usize
    }

    /// Writes the request of the user in `place`, who is in this round, to the end of `out`; false
    /// if its bytes are fixed.
    pub(crate) fn write(
        &mut self,
        place: u32,
        round: u64,
        request: RequestId,
        out: &mut Vec<u8>,
    ) -> bool {
        let class = usize::from(request.0 / 2);
        let user = self.user(place);
        if self.is_once {
            // What the one before knew is not known to the next, whatever that asks first.
            self.begin_round(user, round);
        }
        if self.templates[class].is_none() {
            return false;
        }
        self.begin_round(user, round);
        let session = &self.sessions[user];
        if let Some(template) = &self.templates[class] {
            let jar = (&session.jar, self.now);
            template.write(&session.values, jar, request.0 % 2 == 1, out);
        }
        true
    }

    /// Draws what has another value in each round.
    fn begin_round(&mut self, user: usize, round: u64) {
        let session = &mut self.sessions[user];
        if session.round == round + 1 {
            return;
        }
        let is_another = self.is_once || session.round == 0;
        session.round = round + 1;
        let turn = match self.is_once {
            true => round * self.workers + self.worker,
            false => user as u64 * self.workers + self.worker + round * self.all,
        };
        if self.is_once {
            session.jar.clear();
        }
        for (variable, value) in self.variables.iter().zip(&mut session.values) {
            if self.is_once {
                value.clear();
            }
            if is_another || !variable.once {
                draw(&variable.source, self.seed, turn, value);
            }
        }
    }

    /// The head of an answer has come for the user in `place`.
    pub(crate) fn head(&mut self, place: u32, class: u16, head: &[u8]) {
        let user = self.user(place);
        let session = &mut self.sessions[user];
        let heard = &mut self.heard[place as usize];
        heard.content.clear();
        heard.lacks_field = false;
        if self.cookies {
            let target = self.templates[usize::from(class)].as_ref();
            let place = target.map_or((&b""[..], &b"/"[..]), Template::place);
            for (name, value) in fields(head) {
                if name.eq_ignore_ascii_case(b"set-cookie") {
                    session.jar.take(value, place, self.now);
                }
            }
        }
        if let Some(reads) = &self.reads[usize::from(class)] {
            heard.lacks_field = !reads.take_fields(head, &mut session.values);
        }
    }

    /// Content has come for the user in `place`.
    pub(crate) fn content(&mut self, place: u32, bytes: &[u8]) {
        let content = &mut self.heard[place as usize].content;
        let room = CONTENT_MAX - content.len();
        content.extend_from_slice(&bytes[..bytes.len().min(room)]);
    }

    /// The answer for the user in `place` is complete: what it lacks.
    pub(crate) fn complete(&mut self, place: u32, class: u16) -> Option<Cause> {
        let user = self.user(place);
        let reads = self.reads[usize::from(class)].as_ref()?;
        let heard = &self.heard[place as usize];
        let has_values = reads.take_content(&heard.content, &mut self.sessions[user].values);
        if !reads.is_contained(&heard.content) {
            Some(Cause::LacksText)
        } else if heard.lacks_field || !has_values {
            Some(Cause::LacksValue)
        } else {
            None
        }
    }
}

/// What the first user of `plan` sends as `request` before any other request, as HTTP/1.1 has it;
/// none where its bytes are fixed.
pub(crate) fn first_message(plan: &Plan, request: RequestId) -> Option<Vec<u8>> {
    let file = plan.file();
    let script = file.script.as_ref()?;
    let templates = templates(plan, &names(script));
    let template = templates[usize::from(request.0 / 2)].as_ref()?;
    let values = script.variables.iter().map(|variable| {
        let mut value = Vec::new();
        draw(&variable.source, file.seed, 0, &mut value);
        value
    });
    let values: Vec<Vec<u8>> = values.collect();
    let mut out = Vec::new();
    let jar = (&Jar::default(), sys::clock::realtime());
    template.write(&values, jar, request.0 % 2 == 1, &mut out);
    Some(out)
}

/// The most bytes that a user of `plan` sends at once; 0 where all requests are fixed.
pub(crate) fn longest(plan: &Plan) -> usize {
    let Some(script) = &plan.file().script else {
        return 0;
    };
    let answers = script.answers.iter();
    let taken: Vec<&str> = answers
        .flat_map(|answer| &answer.takes)
        .map(|take| take.variable.as_str())
        .collect();
    let most = |variable: &VariableFile| {
        let is_taken = taken.contains(&variable.name.as_str());
        drawn_most(variable).max(if is_taken { VALUE_MAX } else { 0 })
    };
    let most: Vec<usize> = script.variables.iter().map(most).collect();
    let cookies = if script.cookies { jar::FIELD_MAX } else { 0 };
    let templates = templates(plan, &names(script));
    let lengths = templates.iter().flatten();
    let lengths = lengths.map(|template| template.longest(&most) + cookies);
    lengths.max().unwrap_or(0)
}

/// Of all variables.
fn names(script: &ScriptFile) -> Names<'_> {
    let variables = script.variables.iter();
    let all: Vec<&str> = variables.map(|one| one.name.as_str()).collect();
    let takes = script.answers.iter().flat_map(|answer| &answer.takes);
    let from_location = takes.filter(|take| {
        matches!(&take.from, FromFile::Header(name) if name.eq_ignore_ascii_case("location"))
    });
    let position = |name: &String| all.iter().position(|one| one == name);
    let locations = from_location.filter_map(|take| position(&take.variable));
    Names {
        locations: locations.collect(),
        all,
    }
}

/// By class: those of requests whose bytes are not fixed.
fn templates(plan: &Plan, names: &Names<'_>) -> Box<[Option<Template>]> {
    let requests = plan.requests().iter().enumerate();
    let keeps = plan.file().script.as_ref();
    let keeps = keeps.is_some_and(|script| script.cookies);
    let template = |(position, request): (usize, &model::plan::Request)| {
        let is_fixed = plan.is_fixed(position);
        let origin = plan.origin_of(&request.url);
        (!is_fixed).then(|| Template::new(request, &origin, names, keeps))
    };
    requests.map(template).collect()
}

/// The longest value that is drawn; what an answer says may be longer.
fn drawn_most(variable: &VariableFile) -> usize {
    match &variable.source {
        SourceFile::Answer => 0,
        SourceFile::Counter { .. } | SourceFile::Random { .. } => DIGITS,
        SourceFile::List { values, .. } => values.iter().map(String::len).max().unwrap_or(0),
    }
}

/// The value in this turn: which one depends on the seed and the turn alone. Turns count users
/// first and rounds then, so that no two have the same.
fn draw(source: &SourceFile, seed: u64, turn: u64, value: &mut Vec<u8>) {
    let random = |draw: u32| {
        let stream = turn.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ u64::from(draw);
        Random::stream(seed, stream)
    };
    match source {
        // It keeps what a step took.
        SourceFile::Answer => {}
        SourceFile::Counter { from } => {
            value.clear();
            decimal(from.wrapping_add(turn), value);
        }
        SourceFile::List {
            values,
            random: by_chance,
            draw,
        } => {
            let count = values.len();
            let index = if *by_chance {
                random(*draw).below(count)
            } else {
                usize::try_from(turn % count as u64).unwrap_or(0)
            };
            value.clear();
            value.extend_from_slice(values[index].as_bytes());
        }
        SourceFile::Random { from, to, draw } => {
            let wide = usize::try_from((to - from).saturating_add(1)).unwrap_or(usize::MAX);
            let above = random(*draw).below(wide) as u64;
            value.clear();
            decimal(from + above, value);
        }
    }
}

/// Writes a number without what formatting costs.
fn decimal(number: u64, out: &mut Vec<u8>) {
    let mut digits = [0; DIGITS];
    let mut rest = number;
    let mut at = digits.len();
    loop {
        at -= 1;
        digits[at] = b'0' + u8::try_from(rest % 10).unwrap_or(0);
        rest /= 10;
        if rest == 0 {
            break;
        }
    }
    out.extend_from_slice(&digits[at..]);
}

#[cfg(test)]
mod tests;
