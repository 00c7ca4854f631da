// SPDX-License-Identifier: Apache-2.0
//
// A conversation as the page knows it. The server's is the truth; here is also what only the stream tells: tokens with
// their probabilities, times, why an answer ended.
import * as api from './api.js';

const kUtf8 = new TextEncoder();

// Others may have put in lists of parts, or none (calls of tools).
function textOf(content) {
  if (Array.isArray(content)) return content.map(part => part.text ?? '').join('');
  return content ?? '';
}

// Gives what tools gave the names of the calls that asked for it.
function nameResults(messages) {
  const names = new Map(messages.flatMap(({calls}) => calls.map(({id, name}) => [id, name])));
  for (const message of messages) {
    if (message.role === 'tool') message.name ??= names.get(message.callId);
  }
}

/**
 * One message. `spans` lists for each text ('content', 'reasoning') the pieces that tokens are seen as:
 * {start, end, steps}, several steps where only together they make a character.
 */
export class Message {
  constructor({role, content, reasoning_content: reasoning, tool_calls: calls, tool_call_id: callId, name}) {
    this.role = role;
    this.name = name;
    this.callId = callId;
    this.model = null;
    this.content = textOf(content);
    this.reasoning = textOf(reasoning);
    this.calls = (calls ?? []).map(({id, function: {name: tool, arguments: given}}) => (
      {id, name: tool, arguments: typeof given === 'string' ? given : JSON.stringify(given)}));
    this.spans = {content: [], reasoning: []};
    this.pending = [];
    this.tokens = 0;
    this.begun = this.first = this.last = this.thought = null;
    this.end = null;
    this.usage = this.measured = null;
  }

  /** Adds a chunk of the stream. */
  add(chunk) {
    this.model = chunk.model ?? this.model;
    if (chunk.usage) [this.usage, this.measured] = [chunk.usage, chunk.skald ?? null];
    const choice = chunk.choices?.[0];
    if (!choice) return;
    const {content, reasoning_content: reasoning} = choice.delta ?? {};
    this.pending.push(...choice.logprobs?.content ?? []);
    this.tokens += choice.logprobs?.content?.length ?? (content || reasoning ? 1 : 0);
    if (content || reasoning) {
      this.last = performance.now();
      this.first ??= this.last;
    }
    if (reasoning) this.write('reasoning', reasoning);
    if (content) {
      if (this.reasoning) this.thought ??= this.last;
      this.write('content', content);
    }
    for (const call of choice.delta?.tool_calls ?? []) this.addCall(call);
    if (choice.finish_reason) this.end = choice.finish_reason;
  }

  addCall({index = this.calls.length, function: {name = '', arguments: given = ''} = {}}) {
    const call = this.calls[index] ??= {name: '', arguments: ''};
    call.name += name;
    call.arguments += given;
  }

  /** Whether it can go on where it ended. */
  get isCut() {
    return this.content !== '' && (this.end === 'length' || this.end === 'stopped');
  }

  /** Gets ready to go on; what is measured then is of the rest. */
  resume() {
    this.begun = this.first = this.last = this.thought = this.end = this.usage = this.measured = null;
    this.tokens = 0;
  }

  // Deals out new text to the tokens that have come: by their bytes and from its end, as tokens before it may be marks
  // that are not shown. A token that ends within a character belongs to the next one that does not.
  write(part, text) {
    const start = this[part].length;
    this[part] += text;
    const sizeOf = step => step.bytes?.length ?? kUtf8.encode(step.token).length;
    let end = kUtf8.encode(text).length - this.pending.reduce((sum, step) => sum + sizeOf(step), 0);
    let [at, bytes, steps] = [0, 0, []];
    for (const step of this.pending) {
      end += sizeOf(step);
      if (end <= 0) continue;
      steps.push(step);
      const from = at;
      for (const letter of text.slice(at)) {
        const size = kUtf8.encode(letter).length;
        if (bytes + size > end) break;
        bytes += size;
        at += letter.length;
      }
      if (at === from) continue;
      this.spans[part].push({start: start + from, end: start + at, steps});
      steps = [];
    }
    this.pending = [];
  }

  /** Tokens in a second after the first one; null while there is nothing to measure. */
  get speed() {
    const tokens = (this.usage?.completion_tokens ?? this.tokens) - 1;
    const seconds = this.measured ? this.measured.seconds - this.measured.first_token_seconds :
                                    (this.last - this.first) / 1000;
    return tokens > 0 && seconds > 0 ? tokens / seconds : null;
  }

  /** Seconds until the first token. */
  get wait() {
    return this.measured?.first_token_seconds ?? (this.first === null ? null : (this.first - this.begun) / 1000);
  }

  /** What only the stream told, as a plain value; null if there is nothing. */
  get record() {
    if (this.role !== 'assistant' || this.end === null) return null;
    const {content, reasoning, spans, tokens, end, usage, measured, model} = this;
    const since = time => (time === null ? null : time - this.begun);
    return {content, reasoning, spans, tokens, end, usage, measured, model,
            begun: 0, first: since(this.first), last: since(this.last), thought: since(this.thought)};
  }

  /** Takes a record, if it is of this answer. */
  restore({content, reasoning, spans, tokens, end, usage, measured, model = null, begun, first, last, thought}) {
    const isNew = this.role === 'assistant' && this.begun === null;
    if (!isNew || content !== this.content || reasoning !== this.reasoning) return;
    Object.assign(this, {spans, tokens, end, usage, measured, model, begun, first, last, thought});
  }

  /** The message that the server has in this place: this one, as far as it is the same. */
  reconcile(told) {
    const same = told.role === this.role && told.content.startsWith(this.content) &&
        (told.reasoning === this.reasoning || this.content === '');
    if (!same) return told;
    this.content = told.content;
    this.reasoning = told.reasoning;
    this.calls = told.calls;
    return this;
  }
}

export class Conversation {
  /** `messages`: those of a conversation that it was forked from, for what only they know. */
  constructor(told, messages = []) {
    this.id = told.id;
    this.messages = messages;
    this.abort = null;
    this.failure = null;
    this.settled = Promise.resolve();
    this.unsent = '';
    this.onchange = () => {};
    this.reconcile(told);
  }

  get answering() {
    return this.abort !== null;
  }

  get lastRole() {
    return this.messages.at(-1)?.role;
  }

  /** Takes over what the server has; the text of a person's message that never came there is `unsent` then. */
  reconcile(told) {
    this.unsent = this.messages.slice(told.messages.length).find(message => message.role === 'user')?.content ?? '';
    this.messages = told.messages.map((message, index) => {
      const fresh = new Message(message);
      return this.messages[index]?.reconcile(fresh) ?? fresh;
    });
    nameResults(this.messages);
  }

  /** Lets the last answer go on, as `answer` does. */
  async goOn(settings) {
    this.abort = new AbortController();
    await this.settled;
    const answer = this.messages.at(-1);
    answer.resume();
    await this.take(answer, [], {...settings, continue_final_message: true});
  }

  /**
   * Sends `messages` and takes the answer; what goes wrong ends in `failure`. `onchange` hears 'messages' when they come
   * or go, 'text' when the answer grows, 'end' when all is done.
   */
  async answer(messages, settings) {
    this.abort = new AbortController();
    await this.settled;
    const answer = new Message({role: 'assistant'});
    this.messages.push(...messages.map(message => new Message(message)), answer);
    await this.take(answer, messages, settings);
  }

  async take(answer, messages, settings) {
    this.failure = null;
    answer.begun = performance.now();
    this.onchange('messages');
    try {
      for await (const chunk of api.complete(this.id, messages, settings, this.abort.signal)) {
        answer.add(chunk);
        this.onchange('text');
      }
    } catch (error) {
      if (error.name === 'AbortError') answer.end = 'stopped';
      else this.failure = error;
    }
    this.abort = null;
    if (answer.end === 'stopped' || this.failure) this.settled = this.settle(answer);
    await this.settled;
    this.onchange('end');
  }

  stop() {
    this.abort?.abort();
  }

  // After an answer that was broken off, the server needs a moment until it has stored its part.
  async settle(answer) {
    this.onchange('messages');
    for (const pause of [100, 300, 1000]) {
      await new Promise(resolve => setTimeout(resolve, pause));
      const told = await api.open(this.id).catch(() => null);
      const isStored = told && told.messages.length >= this.messages.length &&
          textOf(told.messages.at(-1).content).length >= answer.content.length;
      if (isStored || (told && pause === 1000)) {
        this.reconcile(told);
        return;
      }
    }
  }
}
