// SPDX-License-Identifier: Apache-2.0
//
// What only the stream told of answers, such as probabilities and times: kept in this browser for when the page is
// loaded again. A browser that keeps nothing shows answers without it.

const kAnswers = 'answers';
const kMost = 500;

const done = request => new Promise((resolve, reject) => {
  request.onsuccess = () => resolve(request.result);
  request.onerror = () => reject(request.error);
});

let database = null;

async function answers(mode) {
  database ??= (() => {
    const request = indexedDB.open('skald', 1);
    request.onupgradeneeded = () => {
      const store = request.result.createObjectStore(kAnswers, {keyPath: ['conversation', 'index']});
      store.createIndex('kept', 'kept');
    };
    return done(request);
  })();
  return (await database).transaction(kAnswers, mode).objectStore(kAnswers);
}

const allOf = conversation => IDBKeyRange.bound([conversation, 0], [conversation, Infinity]);

/** Keeps what is known of the answers of a conversation; the oldest that are kept go. */
export async function keep(conversation) {
  try {
    const store = await answers('readwrite');
    conversation.messages.forEach((message, index) => {
      const record = message.record;
      if (record) store.put({...record, conversation: conversation.id, index, kept: Date.now()});
    });
    const excess = await done(store.count()) - kMost;
    if (excess <= 0) return;
    for (const key of await done(store.index('kept').getAllKeys(null, excess))) store.delete(key);
  } catch {
    // It is shown for as long as the page is there.
  }
}

/** Gives the answers of a conversation what is known of them. */
export async function recall(conversation) {
  try {
    const store = await answers('readonly');
    for (const record of await done(store.getAll(allOf(conversation.id)))) conversation.messages[record.index]?.restore(record);
  } catch {
    // As above.
  }
}

export async function forget(id) {
  try {
    (await answers('readwrite')).delete(allOf(id));
  } catch {
    // As above.
  }
}
