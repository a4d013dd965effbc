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
import { listRoute } from '../lists/listRoute.ts';
import { requireRow } from '../requireRow.ts';
import { type Route, route } from '../route.ts';
import { createdFilters, line } from '../schemas.ts';
import { requireSavedSplits, splitsBody } from '../splitRequest.ts';

const view = viewOf(splitTemplate, ({ splits, ...template }: SplitTemplate) => ({ ...template, splits: [...splits] }));

const create = route({
  operationId: 'createSplitTemplate',
  summary: 'Save splits',
  success: { status: 201, data: splitTemplate },
  errors: ['WALLET_NOT_FOUND'],
  method: 'post',
  path: '/split-templates',
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

const list = listRoute({
  operationId: 'listSplitTemplates',
  summary: 'List saved splits',
  item: splitTemplate,
  path: '/split-templates',
  access: 'payment',
  filters: createdFilters,
  find: ({ sql, book }, filters, page) => listSplitTemplates(sql, book, filters, page),
  view,
});

const read = route({
  operationId: 'getSplitTemplate',
  summary: 'Get saved splits',
  success: { status: 200, data: splitTemplate },
  errors: ['SPLIT_TEMPLATE_NOT_FOUND'],
  method: 'get',
  path: '/split-templates/:id',
  access: 'payment',
  handle: async (call) => view(await requireRow(call, 'split_template', findSplitTemplate)),
});

export const splitTemplateRoutes: Route[] = [create, list, read];
