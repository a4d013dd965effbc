// The building blocks of response schemas: ids, amounts, times. Responses are not validated at run time; the schemas
// type the views, and the OpenAPI document is made from them (tools/generateOpenApi.ts).
import { z } from 'zod';
import { ID_SUFFIXES, type IdKind } from '../../ids.ts';
import { CURRENCY } from '../../money.ts';

/** A public id of this kind. */
export const publicIdOf = (kind: IdKind) => z.string().regex(idPattern(ID_SUFFIXES[kind]));

/** A public id of any kind. */
export const anyPublicId = z.string().regex(idPattern('[a-z]{3}'));

function idPattern(suffix: string): RegExp {
  return new RegExp(`^svc_[0-7][0-9a-hjkmnp-tv-z]{25}_${suffix}$`);
}

/** Kobo: a safe integer, never negative. */
export const kobo = z.number().int().min(0).describe('In kobo; 100 kobo are one naira');

export const currency = z.literal(CURRENCY);

export const time = z.iso.datetime().describe('ISO 8601, UTC, with milliseconds');
