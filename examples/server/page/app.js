// SPDX-License-Identifier: Apache-2.0
//
// The page: what is open, what its buttons do. The server holds the conversations; the address names the one shown.
import * as api from './talk/api.js';
import {Conversation} from './talk/conversation.js';
import {splitFiles, withFiles} from './talk/files.js';
import * as records from './talk/records.js';
import {Shelf} from './talk/shelf.js';
import {joinTitle, splitTitle, titleFor} from './talk/titles.js';
import {exported, imported} from './talk/transfer.js';
import {Attachments} from './view/attachments.js';
import {Connection} from './view/connection.js';
import {ConversationList} from './view/conversation_list.js';
import {announce, ask, element, find, growing, isTouch, saveFile, sayer, setIcon} from './view/elements.js';
import * as settings from './settings.js';
import {watchTokens} from './view/tokens.js';
import {Transcript} from './view/transcript.js';

const opened = new Map();
const shelf = new Shelf();
let current = null;
let wanted = null;
let contextLength = null;
let begun = 0;

const transcript = new Transcript({
  scroller: find('#scroller'), list: find('#messages'), toEnd: find('#to-end'),
  actions: {
    edit: (index, text) => attempt(() => answerInBranch(index, [{role: 'user', content: text}])),
    again: index => attempt(() => answerInBranch(index, [])),
    goOn: () => attempt(() => answer(current, conversation => conversation.goOn(settings.choices()))),
    change: (index, text) => attempt(() => (current.messages[index].role === 'system' ? setSystem(text) : changeAnswer(index, text))),
    go: (id, index, step) => attempt(() => goToBranch(id, index, step)),
    hasSeveralModels: settings.hasSeveralModels,
    alternatives: index => (current ? shelf.branches.alternatives(current.id, index) : {index: 0, ids: []}),
  },
});
const prompt = find('#prompt');
const fitPrompt = growing(prompt, () => send());

const attachments = new Attachments({
  list: find('#attached'), button: find('#attach'), input: find('#attach-files'), area: find('main'),
  onchange: () => drawComposer(), onfailure: text => showFailure(text),
});
const list = new ConversationList(find('#conversations'), find('#search'));

const connection = new Connection(find('#connection'), () => {
  drawComposer();
  drawFailure();
});

// ---- Start, and what goes wrong ----

async function load() {
  await connection.wait();
  const models = await api.models();
  contextLength = models[0]?.context_length ?? null;
  settings.offerModels(models.map(({id}) => id), name => { find('#model').textContent = name; });
  await refresh();
  await show(location.hash.slice(1), {focus: false});
  connection.set('ready');
}

/** Runs what a button does; what goes wrong is said where the messages end. */
async function attempt(action) {
  try {
    await action();
  } catch (error) {
    if (!(error instanceof api.ApiError)) throw error;
    showFailure(error.message, error.status === 401 ? 'Give a key' : null, load);
    if (error.status === 0 || error.status === 503) await attempt(load);
  }
}

// ---- The list of conversations ----

async function refresh() {
  await shelf.refresh();
  drawList();
  transcript.update();
  if (await shelf.readUntitled()) drawList();
}

function drawList() {
  list.show(shelf.items(current?.id, id => opened.get(id)?.answering ?? false));
  find('#title').textContent = current ? shelf.titleOf(current.id) : 'New conversation';
  document.title = current ? `${shelf.titleOf(current.id)} \u2013 Skald` : 'Skald';
}

// ---- The conversation shown ----

function adopt(told, messages) {
  const conversation = new Conversation(told, messages);
  opened.set(conversation.id, conversation);
  const say = {};
  conversation.onchange = what => {
    if (what === 'messages') say.text ??= sayer(conversation.messages.at(-1)?.content.length ?? 0);
    if (what === 'end') records.keep(conversation);
    if (conversation !== current) return what === 'text' ? undefined : drawList();
    const answer = conversation.messages.at(-1);
    if (what === 'text') {
      say.text(answer.content, false);
      return drawSoon();
    }
    if (what === 'end') {
      if (answer?.role === 'assistant') say.text?.(answer.content, true);
      say.text = null;
    }
    transcript.update();
    drawAll();
  };
  return conversation;
}

// A burst of tokens is drawn once.
let drawing = 0;
function drawSoon() {
  drawing ||= requestAnimationFrame(() => {
    drawing = 0;
    if (!current?.answering) return;
    transcript.grow();
    drawState();
  });
}

function drawAll() {
  document.body.classList.toggle('new', !current);
  find('#more').hidden = !current;
  find('#delete-branch').hidden = !current || shelf.branches.familyOf(current.id).length < 2;
  drawList();
  drawComposer();
  drawFailure();
}

function drawComposer() {
  const answering = current?.answering ?? false;
  const button = find('#send');
  const label = answering ? 'Stop' : 'Send';
  button.title = label;
  button.setAttribute('aria-label', label);
  button.classList.toggle('stop', answering);
  button.disabled = !connection.ready || !(answering || prompt.value.trim() || attachments.files.length);
  setIcon(button.firstElementChild, answering ? 'stop' : 'send');
  drawState();
}

function drawState() {
  const last = current?.messages.findLast(message => message.usage);
  const live = current?.answering ? current.messages.at(-1).speed : null;
  const used = last && contextLength ? `${last.usage.total_tokens.toLocaleString('en')} of ` +
      `${contextLength.toLocaleString('en')} tokens of context` : '';
  find('#state').textContent = live ? `${live.toFixed(1)} tokens/s` : used;
}

function showFailure(text, action, run) {
  const button = action && element('button', {type: 'button', onclick: () => attempt(run)}, action);
  find('#failure').replaceChildren(...(text ? [element('p', {}, text), ...(button ? [button] : [])] : []));
  if (text) transcript.scrollToEnd();
}

function drawFailure() {
  const isSaidAbove = !connection.ready && current?.failure?.status === 0;
  if (!current || current.answering || isSaidAbove) return showFailure('');
  const unanswered = current.lastRole === 'user';
  const isSpoken = unanswered || current.lastRole === 'assistant';
  if (current.failure) return showFailure(current.failure.message, isSpoken ? 'Try again' : null, retry);
  return showFailure(unanswered ? 'This message has no answer.' : '', 'Answer it', retry);
}

function restore(content) {
  const {text, files} = splitFiles(content);
  prompt.value = text;
  attachments.set(files);
}

// What never came to the server goes back to where it was written.
function takeUnsent(conversation) {
  if (conversation !== current || !conversation.unsent) return;
  if (!prompt.value) restore(conversation.unsent);
  conversation.unsent = '';
  fitPrompt();
  drawComposer();
}

async function show(id, {focus = true} = {}) {
  wanted = id;
  let conversation = opened.get(id) ?? null;
  if (id && !conversation?.answering) {
    let told;
    try {
      told = await api.open(id);
    } catch (error) {
      if (error.status !== 404) throw error;
      history.replaceState(null, '', location.pathname);
      if (wanted === id) await show('');
      return showFailure('There is no such conversation on this server.');
    }
    // It may have begun an answer meanwhile.
    if (conversation?.answering === false) conversation.reconcile(told);
    if (!conversation) {
      conversation = adopt(told, []);
      await records.recall(conversation);
    }
    if (conversation.unsent) conversation.failure = null;
  }
  // Another one was asked for meanwhile.
  if (wanted !== id) return;
  present(conversation);
  takeUnsent(conversation ?? {});
  if (!focus) return;
  announce(conversation ? `${shelf.titleOf(id)}, ${conversation.messages.length} messages` : 'New conversation');
  if (isTouch()) find('#title').focus();
  else prompt.focus();
}

function present(conversation) {
  current = conversation;
  wanted = conversation?.id ?? '';
  if (conversation) shelf.visit(conversation.id);
  const hash = conversation ? `#${conversation.id}` : '';
  if (location.hash !== hash) history.pushState(null, '', location.pathname + hash);
  transcript.show(conversation);
  drawAll();
}

// ---- What one can do ----

/** `act` begins the answer, and promises its end. */
async function answer(conversation, act) {
  begun = performance.now();
  await act(conversation);
  takeUnsent(conversation);
  const {failure} = conversation;
  if (failure?.status === 0 || failure?.status === 503) await load();
  else await refresh();
  if (conversation === current) drawAll();
}

const say = messages => conversation => conversation.answer(messages, settings.choices());

let starting = false;

async function send() {
  const content = withFiles(prompt.value.trim(), attachments.files);
  if (!content || !connection.ready || starting || current?.answering) return;
  starting = true;
  restore('');
  fitPrompt();
  await attempt(async () => {
    try {
      if (!current) await begin(content);
    } catch (error) {
      restore(content);
      throw error;
    } finally {
      starting = false;
    }
    transcript.follow(true);
    await answer(current, say([{role: 'user', content}]));
  });
}

async function begin(content) {
  const system = settings.systemPrompt();
  const told = await api.create(titleFor(content), system ? [{role: 'system', content: system}] : []);
  await refresh();
  present(adopt(told, []));
}

// The branch has the first `index` messages; the one that there was stays as it is.
async function answerInBranch(index, messages) {
  const from = current;
  await from.settled;
  const told = await api.fork(from.id, index);
  await refresh();
  present(adopt(told, from.messages.slice(0, index)));
  await answer(current, say(messages));
}

// `change` gives of the messages those of a branch that come after the first `index`.
async function branchWith(index, change) {
  const from = current;
  await from.settled;
  const {messages} = await api.open(from.id);
  const told = await api.fork(from.id, index, change(messages));
  await refresh();
  present(adopt(told, from.messages.slice(0, index)));
  records.keep(current);
}

const changeAnswer = (index, text) => branchWith(index, messages => [{...messages[index], content: text}]);

// What was said stays.
const setSystem = text => branchWith(0, messages => [...(text ? [{role: 'system', content: text}] : []),
                                                     ...messages.filter(({role}, index) => index > 0 || role !== 'system')]);

async function askSystem() {
  const [first] = current.messages;
  const given = await ask({title: 'System prompt', text: 'It is changed in a new branch.', action: 'Use', inputs: [
    {label: 'System prompt', type: 'long', value: first?.role === 'system' ? first.content : ''}]});
  if (given) await setSystem(given[0]);
}

async function retry() {
  const conversation = current;
  const last = conversation.messages.at(-1);
  const index = conversation.messages.length - 1;
  if (last.role === 'assistant' && last.content) return answerInBranch(index, []);
  // An answer without a word is no branch worth keeping.
  if (last.role === 'assistant') conversation.reconcile(await api.rewind(conversation.id, index));
  return answer(conversation, say([]));
}

async function goToBranch(id, index, step) {
  const top = transcript.topOf(index);
  await show(id, {focus: false});
  transcript.focusBranch(index, step, top);
  const {index: at, ids} = shelf.branches.alternatives(id, index);
  announce(`Branch ${at + 1} of ${ids.length}`);
}

async function rename() {
  const holder = shelf.branches.eldest(shelf.branches.familyOf(current.id));
  const {folder, name} = splitTitle(shelf.fullTitleOf(holder));
  const given = await ask({title: 'Rename the conversation', action: 'Rename', inputs: [
    {label: 'Title', value: name}, {label: 'Folder', value: folder, required: false, choices: list.folders}]});
  if (!given) return;
  await api.rename(holder, joinTitle({name: given[0], folder: given[1]}));
  await refresh();
}

async function remove(ids, question) {
  if (!await ask({...question, action: 'Delete', danger: true})) return;
  const family = shelf.branches.familyOf(ids[0]);
  for (const id of ids) {
    opened.get(id)?.stop();
    await api.remove(id);
    records.forget(id);
    opened.delete(id);
  }
  const rest = family.filter(id => !ids.includes(id));
  await show(rest.length ? shelf.branches.latest(rest) : '');
  await refresh();
}

const removeBranch = () => remove([current.id], {title: 'Delete this branch?', text: 'The others stay.'});

function removeAll() {
  const family = shelf.branches.familyOf(current.id);
  const text = family.length > 1 ? `\u201c${shelf.titleOf(current.id)}\u201d and its ${family.length} branches will be gone.` :
                                   `\u201c${shelf.titleOf(current.id)}\u201d will be gone.`;
  return remove(family, {title: 'Delete the conversation?', text});
}

async function exportFile(kind) {
  const {blob, extension} = await exported(kind, current.id, shelf.titleOf(current.id));
  const name = shelf.titleOf(current.id).replace(/[^\p{L}\p{N}]+/gu, '-').replace(/^-|-$/g, '') || 'conversation';
  saveFile(blob, `${name}.${extension}`);
}

async function importFile(file) {
  const told = await imported(file);
  await refresh();
  await show(told.id);
}

// ---- Start ----

settings.setUp();
watchTokens(find('#scroller'));
api.onUnauthorized(async wrong => (await ask({
  title: 'This server asks for a key', text: wrong ? 'It does not know the key given.' : 'It is kept until you close this tab.',
  action: 'Go on', inputs: [{label: 'API key', type: 'password', pattern: '[!-~]+'}],
}))?.[0] ?? null);

const sidebar = find('#sidebar');
const closeSidebar = () => { if (sidebar.matches(':popover-open')) sidebar.hidePopover(); };
const onClick = (selector, action) => find(selector).addEventListener('click', () => attempt(action));

onClick('#new', () => { closeSidebar(); return show(''); });
onClick('#import', () => find('#import-file').click());
find('#import-file').addEventListener('change', event => {
  const [file] = event.target.files;
  event.target.value = '';
  closeSidebar();
  if (file) attempt(() => importFile(file));
});
for (const [selector, action] of [['#rename', rename], ['#change-system', askSystem], ['#export-markdown', () => exportFile('markdown')], ['#export-json', () => exportFile('json')],
                                  ['#export', () => exportFile('state')], ['#delete', removeAll], ['#delete-branch', removeBranch]]) {
  onClick(selector, () => { find('#actions').hidePopover(); return action(); });
}
find('#search').addEventListener('input', () => attempt(async () => { if (await shelf.readTexts()) drawList(); }));
find('#conversations').addEventListener('click', event => { if (event.target.closest('a')) closeSidebar(); });
window.addEventListener('hashchange', () => attempt(() => show(location.hash.slice(1))));

find('#skip').addEventListener('click', event => { event.preventDefault(); prompt.focus(); });
prompt.addEventListener('input', drawComposer);
find('#composer').addEventListener('submit', event => {
  event.preventDefault();
  // The second click of a double click on Send must not stop what the first began.
  if (!current?.answering) send();
  else if (performance.now() - begun > 400) current.stop();
});
document.addEventListener('keydown', event => {
  if (event.key === 'Escape' && !document.querySelector('dialog[open], :popover-open')) current?.stop();
});

drawAll();
attempt(load);
