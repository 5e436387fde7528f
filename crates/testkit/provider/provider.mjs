// An OpenID Connect provider for tests: `node provider.mjs <modules> <port> [<origin of an application>]`. Whoever is named by `login_hint`
// (`<name>~<e-mail>~<verified>`) is signed in without being asked. The `resource` of a request chooses the form of the
// access token: none = opaque, else a JWT as the words after the last slash say.
import { generateKeyPairSync } from 'node:crypto';
import { createServer } from 'node:http';
import { createRequire } from 'node:module';
import { pathToFileURL } from 'node:url';

const [modules, port, application] = process.argv.slice(2);
const require = createRequire(`${modules}/package.json`);
const { Provider } = await import(pathToFileURL(require.resolve('oidc-provider')));

const key = (alg, kind, options) => ({
  ...generateKeyPairSync(kind, options).privateKey.export({ format: 'jwk' }), use: 'sig', alg,
});
const rsa = (alg) => key(alg, 'rsa', { modulusLength: 2048 });
const keys = [
  rsa('RS256'), rsa('PS256'),
  key('ES256', 'ec', { namedCurve: 'P-256' }),
  key('ES384', 'ec', { namedCurve: 'P-384' }),
  key('ES512', 'ec', { namedCurve: 'P-521' }),
  key('EdDSA', 'ed25519'),
];

const person = (id) => {
  const [, email, verified] = id.split('~');
  return email ? { email, email_verified: verified === 'true' } : {};
};

// `https://api.example/<algorithm>[,<word>…]`
const words = (resource) => resource.split('/').pop().split(',');
const AUDIENCE = 'https://api.example';

const client = (id, more = {}) => ({
  client_id: id,
  redirect_uris: [`https://${id}.example.org/cb`],
  token_endpoint_auth_method: 'none',
  grant_types: ['authorization_code'],
  response_types: ['code'],
  ...more,
});

const provider = new Provider(`http://127.0.0.1:${port}`, {
  jwks: { keys },
  enabledJWA: { idTokenSigningAlgValues: ['RS256', 'PS256', 'ES256', 'ES384', 'ES512', 'EdDSA'] },
  clients: [
    client('bailiwick', application ? {
      redirect_uris: [`${application}/login-redirect`],
      post_logout_redirect_uris: [`${application}/login`],
      grant_types: ['authorization_code', 'refresh_token'],
      application_type: 'native',
    } : { grant_types: ['authorization_code', 'refresh_token'] }),
    client('wiki'),
    client('stranger'),
    client('console', {
      client_secret: 'the secret of the console',
      token_endpoint_auth_method: 'client_secret_basic',
      redirect_uris: ['http://127.0.0.1:8080/console/signed-in'],
      post_logout_redirect_uris: ['http://127.0.0.1:8080/console/signed-out'],
      application_type: 'native',
    }),
    client('introspector', {
      client_secret: 'a secret: with 100% of signs + more',
      token_endpoint_auth_method: 'client_secret_basic',
      redirect_uris: [], grant_types: [], response_types: [],
    }),
  ],
  // For the tests that show one where it has no business.
  ...(!application && { issueRefreshToken: (_, client) => client.grantTypeAllowed('refresh_token') }),
  clientBasedCORS: (_, origin) => origin === application,
  cookies: { keys: ['for tests only'] },
  pkce: { required: () => true },
  claims: { openid: ['sub'], email: ['email', 'email_verified'] },
  findAccount: (_, id) => ({ accountId: id, claims: () => ({ sub: id, ...person(id) }) }),
  interactions: { url: (_, interaction) => `/interaction/${interaction.uid}` },
  async loadExistingGrant(ctx) {
    const { client: { clientId }, session: { accountId }, params } = ctx.oidc;
    const grant = new ctx.oidc.provider.Grant({ clientId, accountId });
    grant.addOIDCScope('openid email profile offline_access');
    if (params.resource) grant.addResourceScope(params.resource, 'api');
    await grant.save();
    return grant;
  },
  extraTokenClaims: (_, token) => (token.resourceServer ? person(token.accountId) : undefined),
  features: {
    devInteractions: { enabled: false },
    introspection: { enabled: true },
    resourceIndicators: {
      enabled: true,
      getResourceServerInfo: (_, resource) => ({
        scope: 'api',
        audience: words(resource).includes('elsewhere') ? 'https://elsewhere.example' : AUDIENCE,
        accessTokenTTL: 3600,
        accessTokenFormat: 'jwt',
        jwt: { sign: { alg: words(resource)[0] } },
      }),
    },
  },
  formats: {
    customizers: {
      jwt(ctx, token, jwt) {
        const now = Math.floor(Date.now() / 1000);
        const asked = words(token['x-resource'] ?? ctx.oidc.params.resource);
        if (asked.includes('expired')) jwt.payload.exp = now - 90;
        if (asked.includes('late')) jwt.payload.exp = now - 30;
        if (asked.includes('future')) jwt.payload.nbf = now + 120;
        if (asked.includes('soon')) jwt.payload.nbf = now + 30;
        if (asked.includes('list')) jwt.payload.aud = ['https://elsewhere.example', AUDIENCE];
        if (asked.includes('anonymous')) delete jwt.payload.client_id;
        if (asked.includes('azp')) {
          jwt.payload.azp = jwt.payload.client_id;
          delete jwt.payload.client_id;
        }
        if (asked.includes('silent')) {
          delete jwt.payload.email;
          delete jwt.payload.email_verified;
        }
        if (asked.includes('foreign')) jwt.payload.iss = 'https://issuer.example';
        if (asked.includes('endless')) delete jwt.payload.exp;
      },
    },
  },
});

const answer = provider.callback();
createServer(async (request, response) => {
  if (!request.url.startsWith('/interaction/')) {
    answer(request, response);
    return;
  }
  const { params } = await provider.interactionDetails(request, response);
  await provider.interactionFinished(request, response, { login: { accountId: params.login_hint }, consent: {} });
}).listen(Number(port), '127.0.0.1');
