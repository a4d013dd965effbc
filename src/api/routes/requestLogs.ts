// The request log of the caller's environment (contract, section 5).
import { z } from 'zod';
import { listRequestLogs } from '../../resources/requestLogs.ts';
import { requestLog } from '../contract/answers.ts';
import { digitsFrom, REQUEST_ID_PREFIX } from '../envelope.ts';
import { CATALOG, type ErrorCode } from '../errors.ts';
import { listRoute } from '../lists/listRoute.ts';
import { createdFilters } from '../schemas.ts';
import { requestLogView } from '../views.ts';

const requestId = z
  .string()
  .regex(/^req_[0-9a-f]{24}$/, 'must be a request id')
  .transform((id) => id.slice(REQUEST_ID_PREFIX.length));

export const listRequests = listRoute({
  operationId: 'listRequestLogs',
  item: requestLog,
  path: '/request-logs',
  access: 'keys',
  filters: {
    ...createdFilters,
    requestId: requestId.optional(),
    status: z.enum(['2xx', '4xx', '5xx']).optional(),
    errorCode: z.enum(Object.keys(CATALOG) as ErrorCode[]).optional(),
  },
  find: ({ sql, book }, { createdAtFrom, createdAtTo, ...filters }, page) =>
    listRequestLogs(
      sql,
      book,
      {
        ...filters,
        from: createdAtFrom && digitsFrom(createdAtFrom),
        to: createdAtTo && digitsFrom(createdAtTo),
      },
      page,
    ),
  view: requestLogView,
  positionOf: ({ createdAt, requestId: id }) => ({ createdAt, id }),
});
