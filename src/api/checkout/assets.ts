// The script and the style of the payment pages. Their paths contain a hash of their content, so browsers keep them for
// as long as they like.
import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { CHECKOUT_PATH } from './token.ts';

interface Asset {
  path: string;
  type: string;
  body: string;
}

const HASH_DIGITS = 16;

function readAsset(name: string, extension: 'js' | 'css', type: string): Asset {
  const body = readFileSync(new URL(`static/${name}.${extension}`, import.meta.url), 'utf8');
  const hash = createHash('sha256').update(body).digest('hex').slice(0, HASH_DIGITS);
  return { path: `${CHECKOUT_PATH}/assets/${name}-${hash}.${extension}`, type, body };
}

export const script = readAsset('page', 'js', 'text/javascript; charset=utf-8');
export const style = readAsset('page', 'css', 'text/css; charset=utf-8');
export const assets: readonly Asset[] = [script, style];
