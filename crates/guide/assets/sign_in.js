// Who asks: the credentials of this tab, and the sign-in at the provider (authorization code with PKCE). Everything is
// kept in the storage of the tab and is gone with it.

const CREDENTIALS = 'bailiwick-reference';
const ENTRY = 'bailiwick-reference-entry';
const dialog = document.getElementById('credentials');
const { root, base, issuer, client } = dialog.dataset;
const by = (id) => document.getElementById(id);

const stored = (key) => {
  try { return JSON.parse(sessionStorage.getItem(key)) || {}; } catch { return {}; }
};
const credentials = () => stored(CREDENTIALS);
const keep = (change) => sessionStorage.setItem(CREDENTIALS, JSON.stringify({ ...credentials(), ...change }));

const tell = (text, isWrong) => {
  const state = by('sign-in-state') || by('credentials-state');
  state.textContent = text;
  state.classList.toggle('wrong', Boolean(isWrong));
};

const show = () => {
  const { who, token, name } = credentials();
  const label = who || (token && 'A token') || name;
  by('credentials-open').textContent = label || (issuer ? 'Sign in' : 'Credentials');
  by('credentials-open').hidden = false;
  by('sign-out').hidden = !label;
  by('credentials-state').classList.remove('wrong');
  const said = who ? `You are signed in as ${who}.` : 'Requests are sent with what you have given here.';
  by('credentials-state').textContent = label ? said : 'Requests are sent without a credential.';
  by('basic-name').value = name || '';
};

// A provider on another host, or a page without https, can fail in ways that only this knows of.
class Refusal extends Error {}
const refuse = (text) => { throw new Refusal(text); };

const json = async (address, options, what) => {
  const answer = await fetch(address, options).catch(() => refuse(`${what} cannot be reached from this page.`));
  const body = await answer.json().catch(() => ({}));
  if (answer.ok) return body;
  return refuse(`${what} refuses: ${body.error_description || body.message || answer.status}.`);
};

const discover = async () => {
  const address = `${issuer}/.well-known/openid-configuration`;
  const found = await json(address, { credentials: 'omit' }, 'The provider');
  if (found.issuer !== issuer && found.issuer !== `${issuer}/`) refuse('The provider calls itself by another name.');
  return found;
};

const base64url = (bytes) =>
  btoa(String.fromCharCode(...bytes)).replaceAll('+', '-').replaceAll('/', '_').replaceAll('=', '');
const random = () => base64url(crypto.getRandomValues(new Uint8Array(32)));

const begin = async () => {
  if (!crypto.subtle) refuse('Browsers sign in over https only, or at localhost. Give a token instead.');
  const provider = await discover();
  const redirect = `${location.origin}${root}/signed-in`;
  const entry = { state: random(), verifier: random(), redirect, page: location.href };
  const digest = await crypto.subtle.digest('SHA-256', new TextEncoder().encode(entry.verifier));
  const address = new URL(provider.authorization_endpoint);
  const query = {
    response_type: 'code', client_id: client, redirect_uri: redirect, scope: 'openid profile email',
    state: entry.state, code_challenge: base64url(new Uint8Array(digest)), code_challenge_method: 'S256',
  };
  for (const [key, value] of Object.entries(query)) address.searchParams.set(key, value);
  sessionStorage.setItem(ENTRY, JSON.stringify(entry));
  location.assign(address);
};

const complete = async () => {
  const answer = new URLSearchParams(location.search);
  const entry = stored(ENTRY);
  sessionStorage.removeItem(ENTRY);
  // The code is good once; it need not stand in the history.
  history.replaceState(null, '', location.pathname);
  if (!entry.state || answer.get('state') !== entry.state) {
    refuse('This sign-in was not begun in this tab, or it was completed before. Go to the reference and sign in again.');
  }
  if (answer.has('error')) {
    const isDenied = answer.get('error') === 'access_denied';
    refuse(isDenied ? 'The sign-in was refused or cancelled.' : `The provider refuses: ${answer.get('error_description') || answer.get('error')}.`);
  }
  const provider = await discover();
  const form = new URLSearchParams({
    grant_type: 'authorization_code', client_id: client, code: answer.get('code') || '',
    redirect_uri: entry.redirect, code_verifier: entry.verifier,
  });
  const tokens = await json(provider.token_endpoint, { method: 'POST', body: form, credentials: 'omit' }, 'The provider');
  const exchange = {
    method: 'POST', credentials: 'omit', headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ access_token: tokens.access_token }),
  };
  const { data } = await json(`${base}/auth/exchange`, exchange, 'The service');
  keep({ token: data.token, who: data.user.email || data.user.name });
  location.replace(entry.page.startsWith(`${location.origin}/`) ? entry.page : root);
};

const attempt = (work) => work().catch((error) => {
  if (!(error instanceof Refusal)) console.error(error);
  tell(error instanceof Refusal ? error.message : 'The sign-in has failed.', true);
});

by('credentials-open').addEventListener('click', () => { show(); dialog.showModal(); });
dialog.querySelector('[data-close]').addEventListener('click', () => dialog.close());
by('sign-in')?.addEventListener('click', () => attempt(begin));
by('credentials-form').addEventListener('submit', (event) => {
  event.preventDefault();
  const token = by('token').value.trim().replace(/^bearer\s+/i, '').replace(/\s+/g, '');
  if (token) keep({ token, who: undefined });
  const [name, secret] = [by('basic-name').value.trim(), by('basic-secret').value];
  if (secret) keep({ name, secret });
  by('credentials-form').reset();
  show();
  dialog.close();
});
by('sign-out').addEventListener('click', () => {
  const { token, who } = credentials();
  // The session of a sign-in here ends; a token that was pasted is another program's.
  const headers = { authorization: `Bearer ${token}` };
  if (who) fetch(`${base}/auth/logout`, { method: 'POST', credentials: 'omit', headers }).catch(() => {});
  sessionStorage.removeItem(CREDENTIALS);
  by('credentials-form').reset();
  show();
});
show();
if (by('signed-in')) attempt(complete);
