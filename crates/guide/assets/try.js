
// The request of an operation: made of the form, sent, and shown with its answer.

const LONGEST = 1024 * 1024;
const form = by('try');

const encoded = (text) => base64url(new TextEncoder().encode(text)).replaceAll('-', '+').replaceAll('_', '/');
const padded = (text) => text + '='.repeat((4 - (text.length % 4)) % 4);

const authorization = () => {
  const { token, name, secret } = credentials();
  const schemes = form.dataset.schemes.split(' ');
  const isBearer = schemes.includes('bearer') || schemes.includes('historyWebhook');
  if (isBearer && token) return `Bearer ${token}`;
  const isBasic = schemes.includes('system') || schemes.includes('apiKey');
  return isBasic && secret ? `Basic ${padded(encoded(`${name}:${secret}`))}` : undefined;
};

const body = () => {
  const box = form.querySelector('.body');
  if (!box) return [undefined, undefined];
  const media = box.dataset.media;
  const own = by('body');
  if (media === 'multipart/form-data') {
    const parts = new FormData();
    for (const input of box.querySelectorAll('[data-part]')) {
      const value = input.type === 'file' ? input.files[0] : input.value;
      if (value) parts.append(input.dataset.part, value);
    }
    return [parts, undefined];
  }
  const value = own.type === 'file' ? own.files[0] : own.value;
  return value ? [value, media] : [undefined, undefined];
};

const request = () => {
  let path = form.dataset.path;
  const query = new URLSearchParams();
  const headers = new Headers();
  for (const input of form.querySelectorAll('[data-name]')) {
    const { name } = input.dataset;
    const values = input.rows ? input.value.split('\n').map((line) => line.trim()) : [input.value];
    for (const value of values.filter(Boolean)) {
      if (input.dataset.in === 'path') path = path.replace(`{${name}}`, encodeURIComponent(value));
      else if (input.dataset.in === 'query') query.append(name, value);
      else headers.append(name, value);
    }
  }
  const [content, media] = body();
  if (media) headers.set('content-type', media);
  const proof = authorization();
  if (proof) headers.set('authorization', proof);
  const start = by('server').value.replace(/\/$/, '');
  const address = `${start}${path}${String(query) && `?${query}`}`;
  return { address, options: { method: form.dataset.method, headers, body: content, credentials: 'omit' } };
};

const quoted = (text) => `'${text.replaceAll("'", "'\\''")}'`;
const command = ({ address, options }) => {
  const parts = ['curl', '-X', options.method, quoted(new URL(address, location.origin).href)];
  for (const [name, value] of options.headers) {
    parts.push('-H', quoted(`${name}: ${name === 'authorization' ? `${value.split(' ')[0]} …` : value}`));
  }
  if (typeof options.body === 'string') parts.push('--data', quoted(options.body));
  else if (options.body instanceof FormData) {
    for (const [name, value] of options.body) parts.push('-F', quoted(`${name}=${value.name ? `@${value.name}` : value}`));
  } else if (options.body) parts.push('--data-binary', quoted(`@${options.body.name}`));
  return parts.join(' ');
};

const isText = (media) => /^(text\/|application\/(json|problem\+json|yaml|xml))|svg/.test(media);
const pretty = (text, media) => {
  if (!media.includes('json')) return text;
  try { return JSON.stringify(JSON.parse(text), null, 2); } catch { return text; }
};

// A stream never ends by itself. The page shows what has arrived until the reader stops it.
const read = async (answer, media) => {
  const chunks = [];
  const decoder = new TextDecoder();
  let size = 0;
  let text = '';
  const reader = answer.body?.getReader();
  for (let part = await reader?.read(); part && !part.done; part = await reader.read()) {
    const chunk = part.value;
    chunks.push(chunk);
    size += chunk.length;
    if (isText(media) && text.length < LONGEST) text += decoder.decode(chunk, { stream: true });
    if (media.startsWith('text/event-stream')) by('answer-body').textContent = text;
  }
  const shown = isText(media) ? pretty(text, media) : `${size} bytes of ${media || 'no type'}`;
  by('answer-body').textContent = size ? shown : '';
  by('answer-box').hidden = !size;
  by('answer-file').hidden = !size;
  by('answer-file').href = URL.createObjectURL(new Blob(chunks, { type: media }));
};

const state = (text, isGood) => {
  by('answer-state').textContent = text;
  by('answer-state').className = isGood ? 'good' : 'bad';
};

const send = async () => {
  by('answer').hidden = false;
  let asked;
  try {
    asked = request();
    by('answer-command').textContent = command(asked);
  } catch {
    state('A header or the credential has a character that requests cannot carry.', false);
    return;
  }
  const stop = new AbortController();
  by('stop').onclick = () => stop.abort();
  by('stop').hidden = false;
  by('send').disabled = true;
  by('answer-head').hidden = true;
  by('answer-box').hidden = true;
  by('answer-file').hidden = true;
  state('Sent …', true);
  const began = performance.now();
  try {
    const answer = await fetch(asked.address, { ...asked.options, signal: stop.signal });
    const media = answer.headers.get('content-type') || '';
    const time = Math.round(performance.now() - began);
    by('answer-headers').textContent = [...answer.headers].map(([name, value]) => `${name}: ${value}`).join('\n');
    by('answer-head').hidden = false;
    by('answer-box').hidden = false;
    by('answer-body').textContent = '';
    const isOver = answer.status === 401 && asked.options.headers.has('authorization');
    const more = isOver ? ' The credential counts no longer, or not here: sign in again.' : '';
    state(`${answer.status} ${answer.statusText}, ${time} ms.${more}`, answer.ok);
    await read(answer, media);
  } catch (error) {
    state(error.name === 'AbortError' ? 'Stopped.' : 'The service cannot be reached.', false);
  }
  by('stop').hidden = true;
  by('send').disabled = false;
};

if (form) {
  const server = by('server');
  const own = [...(server.options || [])].find(({ value }) => value === (base || '/') || (base && value.startsWith(`${base}/`)));
  if (own) server.value = own.value;
  by('send').disabled = false;
  form.addEventListener('submit', (event) => {
    event.preventDefault();
    send();
  });
}
