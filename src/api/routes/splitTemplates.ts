// Saved splits (contract, section 4.8): create, read, list.
import { z } from 'zod';
import { newUuid } from '../../ids.ts';
import { viewOf } from '../../resources/publicFields.ts';
import { splitTemplate } from '../../resources/publicSchemas.ts';
import {
  findSplitTemplate,
  insertSplitTemplate,
  listSplitTemplates,
  type SplitTemplate,
} from '../../resources/splitTemplates.ts';
import { readRoutes } from '../lists/listRoute.ts';
import { type Route, route } from '../route.ts';
import { line } from '../schemas.ts';
import { requireSavedSplits, splitsBody } from '../splitRequest.ts';

const view = viewOf(splitTemplate, ({ splits, ...template }: SplitTemplate) => ({ ...template, splits: [...splits] }));

const create = route({
  operationId: 'createSplitTemplate',
  success: { status: 201, data: splitTemplate },
  errors: ['WALLET_NOT_FOUND'],
  endpoint: 'POST /split-templates',
  access: 'payment',
  body: z.strictObject({ name: line(200), splits: splitsBody.min(1) }),
  handle: async (call) => {
    const { sql, book, body, now: createdAt, outcome } = call;
    const splits = await requireSavedSplits(call, body.splits);
    const template = { id: newUuid(), name: body.name, splits, createdAt };
    const data = view(template);
    await insertSplitTemplate(sql, book, template, outcome(data));
    return data;
  },
});

const reads = readRoutes({
  resource: 'split_template',
  path: '/split-templates',
  access: 'payment',
  item: splitTemplate,
  list: listSplitTemplates,
  find: findSplitTemplate,
  view,
});

export const splitTemplateRoutes: Route[] = [create, ...reads];
