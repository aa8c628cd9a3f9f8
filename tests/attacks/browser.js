// Tries every way by which a page can reach a server, and says of each what it could read. PORT, NAME,
// TOKEN, PROPOSAL and REPORT stand before this text; a worker runs it as well.

const base = `http://${NAME}:${PORT}`;
const decide = JSON.stringify({ patch_id: 'x', base: 'x', decision: { say: 'approve', twice: true } });
const danger = JSON.stringify({ mode: 'dangerous', dry_run: false, model: 'offline' });
const bearer = TOKEN ? { Authorization: `Bearer ${TOKEN}` } : {};
const json = { ...bearer, 'Content-Type': 'application/json' };
const soon = (promise, ms = 4000) => Promise.race([
  promise, new Promise((done) => setTimeout(() => done({ read: false, why: 'no answer' }), ms)),
]);

// What is read of a refusal is read as well: no body may be.
const read = (text) => ({ read: text !== undefined && text !== '', text: String(text).slice(0, 200) });
const not = (error) => ({ read: false, why: String(error) });
const fetched = (path, options) => fetch(base + path, options).then((it) => it.text()).then(read, not);
const xhr = (method, path, body, headers) => new Promise((done) => {
  const it = new XMLHttpRequest();
  it.open(method, base + path);
  for (const name in headers) it.setRequestHeader(name, headers[name]);
  it.onload = () => done(read(it.responseText));
  it.onerror = () => done(not('error'));
  it.send(body);
});

const inAnyScope = {
  'fetch get': () => fetched('/api/settings', { headers: bearer }),
  'fetch simple post': () => fetched(`/api/proposals/${PROPOSAL}/decide`, { method: 'POST', body: decide }),
  'fetch json post': () => fetched(`/api/proposals/${PROPOSAL}/decide`, { method: 'POST', body: decide, headers: json }),
  'fetch put': () => fetched('/api/settings', { method: 'PUT', body: danger, headers: json }),
  'fetch no-cors get': () => fetched(`/api/settings?token=${TOKEN}`, { mode: 'no-cors', headers: bearer }),
  'fetch no-cors post': () => fetched('/api/chat', { mode: 'no-cors', method: 'POST', body: danger, headers: json }),
  health: () => fetched('/health', {}),
  'mcp post': () => fetched('/mcp', { method: 'POST', headers: json,
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/list' }) }),
};

// An element that loads something: whether it says that it did.
const element = (tag, set) => new Promise((done) => {
  const it = document.createElement(tag);
  it.onload = () => done({ read: false, why: 'loaded' });
  it.onerror = () => done(not('error'));
  set(it);
  document.body.append(it);
});
const frame = (set) => new Promise((done) => {
  const it = document.createElement('iframe');
  it.name = `f${Math.random()}`;
  document.body.append(it);
  it.onload = () => {
    try { done(read(it.contentDocument.body.innerText)); } catch (error) { done(not(error)); }
  };
  set(it);
});
const form = (method, enctype, path, name, value) => frame((it) => {
  const form = document.createElement('form');
  Object.assign(form, { method, enctype, action: base + path, target: it.name });
  const input = document.createElement('input');
  Object.assign(input, { name, value });
  form.append(input);
  document.body.append(form);
  form.submit();
});
const inPage = () => ({
  'form urlencoded': () => form('post', 'application/x-www-form-urlencoded', '/api/pair', 'code', '000000'),
  // As text, a field's name and value make JSON around the sign between them.
  'form text/plain': () => form('post', 'text/plain', `/api/proposals/${PROPOSAL}/decide`, `${decide.slice(0, -1)},"a":"`, '"}'),
  'form multipart': () => form('post', 'multipart/form-data', '/api/settings', 'mode', 'dangerous'),
  'form get': () => form('get', '', `/api/proposals/${PROPOSAL}/decide`, 'decision', 'approve'),
  'xhr get': () => xhr('GET', '/api/proposals', null, bearer),
  'xhr post': () => xhr('POST', '/api/chat', danger, json),
  image: () => element('img', (it) => { it.src = `${base}/api/settings?token=${TOKEN}`; }),
  script: () => element('script', (it) => { it.src = `${base}/api/proposals?token=${TOKEN}`; }),
  style: () => element('link', (it) => { it.rel = 'stylesheet'; it.href = `${base}/health`; }),
  object: () => element('object', (it) => { it.data = `${base}/health`; }),
  iframe: () => frame((it) => { it.src = `${base}/api/settings?token=${TOKEN}`; }),
  'beacon text': () => ({ read: false, sent: navigator.sendBeacon(`${base}/api/chat`, danger) }),
  'beacon json': () => ({ read: false,
    sent: navigator.sendBeacon(`${base}/api/settings`, new Blob([danger], { type: 'application/json' })) }),
  prefetch: () => element('link', (it) => { it.rel = 'prefetch'; it.href = `${base}/api/settings`; }),
  preload: () => element('link', (it) => { it.rel = 'preload'; it.as = 'fetch'; it.href = `${base}/health`; }),
  'module import': () => import(`${base}/health`).then(() => read('a module'), not),
  websocket: () => new Promise((done) => {
    const it = new WebSocket(`ws://${NAME}:${PORT}/api/stream?token=${TOKEN}`, ['bearer', TOKEN || 'x']);
    it.onopen = () => done(read('open'));
    it.onerror = () => done(not('error'));
  }),
  eventsource: () => new Promise((done) => {
    const it = new EventSource(`${base}/api/stream/sse?cursor=0&token=${TOKEN}`);
    it.onopen = () => done(read('open'));
    it.onmessage = (event) => done(read(event.data));
    it.onerror = () => { it.close(); done(not('error')); };
  }),
  keepalive: () => fetched('/api/settings', { method: 'PUT', body: danger, headers: json, keepalive: true }),
  window: () => new Promise((done) => {
    const it = window.open(`${base}/api/settings`);
    setTimeout(() => {
      try { done(it ? read(it.document.body.innerText) : not('no window')); } catch (error) { done(not(error)); }
    }, 1500);
  }),
  'worker fetch': () => inside(new Worker('/worker.js'), 'fetch put'),
  'worker importScripts': () => inside(new Worker('/worker.js'), 'importScripts'),
  'service worker': () => navigator.serviceWorker
    ? navigator.serviceWorker.register(`${base}/health`).then(() => read('registered'), not)
    : not('only for pages that are secure'),
});
const inside = (worker, way) => new Promise((done) => {
  worker.onmessage = (event) => done(event.data);
  worker.onerror = () => done(not('error'));
  worker.postMessage(way);
});

if (inWorkerScope) {
  onmessage = async (event) => {
    const ways = { ...inAnyScope, importScripts: () => {
      try { importScripts(`${base}/health`); return read('ran'); } catch (error) { return not(error); }
    } };
    postMessage(await soon(ways[event.data]()));
  };
} else {
  (async () => {
    const ways = { ...inAnyScope, ...inPage() };
    const report = {};
    const all = Object.entries(ways).map(async ([name, way]) => {
      try { report[name] = await soon(Promise.resolve(way())); } catch (error) { report[name] = not(error); }
    });
    await Promise.all(all);
    await fetch(REPORT, { method: 'POST', mode: 'no-cors', body: JSON.stringify(report) });
  })();
}
