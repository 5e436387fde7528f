// An object storage for tests that speaks the S3 protocol (s3rver of npm): `node s3.mjs <modules> <port> <directory> <key id> <secret>`.
// s3rver looks at no signature of version 4, so each request is signed once more here, by a library that is nobody's
// here (aws4 of npm), and refused when that comes to something else.
//
// `/-/<bucket>` is for the tests: PUT makes the bucket and says how it answers (`?answers=`: `well`, `not` = it hangs up,
// `later` = when it is to answer well again), GET tells its keys, how many requests there were and how many wait.
import { createHash } from 'node:crypto';
import { existsSync, readdirSync } from 'node:fs';
import { mkdir, rename, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import { createRequire } from 'node:module';
import { dirname } from 'node:path';
import { PassThrough } from 'node:stream';
import { buffer } from 'node:stream/consumers';

const [modules, port, directory, accessKeyId, secretAccessKey] = process.argv.slice(2);
const require = createRequire(`${modules}/package.json`);
const S3rver = require('s3rver');
const aws4 = require('aws4');

const storage = new S3rver({ directory, silent: true, vhostBuckets: false });
const serve = storage.callback();
const OBJECT = '._S3rver_object';
// s3rver answers an upload before its file is written, so a copy that follows at once can be short, and an object made of
// parts can miss the end of each. Here the answer waits for the whole file.
const writeWhole = async (path, content) => {
  await mkdir(dirname(path), { recursive: true });
  const bytes = Buffer.isBuffer(content) ? content : await buffer(content);
  await writeFile(`${path}.new`, bytes);
  await rename(`${path}.new`, path);
  return { size: bytes.length, md5: createHash('md5').update(bytes).digest('hex') };
};
storage.store.putObject = async function putObject({ bucket, key, content, metadata }) {
  const written = await writeWhole(this.getResourcePath(bucket, key, 'object'), content);
  await this.putMetadata(bucket, key, metadata, written.md5);
  return written;
};
storage.store.putPart = async function putPart(bucket, upload, number, content) {
  const path = `${this.getResourcePath(bucket, undefined, 'uploads')}/${upload}/${number}`;
  const written = await writeWhole(path, content);
  await writeFile(`${path}.md5`, written.md5);
  return written;
};
// s3rver knows one account, by a name of its own.
require('s3rver/lib/models/account').DUMMY_ACCOUNT.createKeyPair(accessKeyId, secretAccessKey);

const credentials = { accessKeyId, secretAccessKey };
const buckets = new Map();
const bucket = (name) => {
  if (!buckets.has(name)) buckets.set(name, { answers: 'well', requests: 0, waiting: [] });
  return buckets.get(name);
};

// Whether the signature in the header is that of the request, whose body must be what its digest says.
const isSigned = ({ method, url, headers }, body) => {
  const [, signed, signature] = /SignedHeaders=([^,]+), *Signature=(\w+)/.exec(headers.authorization) ?? [];
  const [, scope] = /Credential=([^,]+)/.exec(headers.authorization) ?? [];
  const [id, , region, service] = (scope ?? '').split('/');
  const digest = createHash('sha256').update(body).digest('hex');
  if (!signed || id !== accessKeyId || headers['x-amz-content-sha256'] !== digest) return false;
  const only = Object.fromEntries(signed.split(';').map((name) => [name, headers[name]]));
  const again = aws4.sign({ method, path: url, host: headers.host, region, service, headers: only }, credentials);
  return again.headers.Authorization.endsWith(`Signature=${signature}`);
};

// The same of an address that somebody was given.
const isSignedAddress = ({ method, url, headers }) => {
  const path = new URL(url, 'http://here');
  const signature = path.searchParams.get('X-Amz-Signature');
  const [id, , region, service] = (path.searchParams.get('X-Amz-Credential') ?? '').split('/');
  path.searchParams.delete('X-Amz-Signature');
  const asked = { method, path: `${path.pathname}${path.search}`, host: headers.host, region, service, signQuery: true };
  const again = new URL(aws4.sign({ ...asked, headers: { host: headers.host } }, credentials).path, 'http://here');
  return id === accessKeyId && again.searchParams.get('X-Amz-Signature') === signature;
};

const refuse = (response) => {
  response.writeHead(403, { 'content-type': 'application/xml' });
  response.end('<?xml version="1.0"?><Error><Code>SignatureDoesNotMatch</Code><Message>No.</Message></Error>');
};

const control = async (request, response) => {
  const address = new URL(request.url, 'http://here');
  const name = address.pathname.split('/')[2];
  if (request.method === 'PUT') {
    await storage.store.putBucket(name);
    const told = bucket(name);
    told.answers = address.searchParams.get('answers') ?? 'well';
    if (told.answers !== 'later') told.waiting.splice(0).forEach((go) => go());
  }
  const place = `${directory}/${name}`;
  const files = existsSync(place) ? readdirSync(place, { recursive: true }) : [];
  const keys = files.filter((file) => file.endsWith(OBJECT)).map((file) => file.slice(0, -OBJECT.length)).sort();
  response.end(JSON.stringify({ keys, requests: bucket(name).requests, waiting: bucket(name).waiting.length }));
};

createServer((request, response) => {
  const [, name] = request.url.split(/[/?]/);
  if (name === '-') return void control(request, response);
  const { answers } = bucket(name);
  bucket(name).requests += 1;
  if (answers === 'not') return void request.socket.destroy();
  const chunks = [];
  request.on('data', (chunk) => chunks.push(chunk));
  request.on('end', async () => {
    if (answers === 'later') await new Promise((go) => bucket(name).waiting.push(go));
    const body = Buffer.concat(chunks);
    const fits = request.url.includes('X-Amz-Signature=') ? isSignedAddress(request) : isSigned(request, body);
    if (!fits) return refuse(response);
    // The body has been read: what follows reads it again.
    const again = Object.assign(new PassThrough(), {
      method: request.method, url: request.url, headers: request.headers, socket: request.socket,
      connection: request.socket, httpVersionMajor: 1, httpVersionMinor: 1, httpVersion: '1.1',
      rawHeaders: request.rawHeaders,
    });
    again.end(body);
    serve(again, response);
  });
}).listen(Number(port), '127.0.0.1');
