// All routes of the service. app.ts serves them; tests compare them with the documentation.
import type { Route } from '../route.ts';
import { apiKeyRoutes } from './apiKeys.ts';
import { bankRoutes } from './banks.ts';
import { eventRoutes } from './events.ts';
import { feeRoutes } from './fees.ts';
import { getHealth } from './health.ts';
import { holdRoutes } from './holds.ts';
import { payFromWallet, paymentEndRoutes } from './paymentEnds.ts';
import { paymentRoutes } from './payments.ts';
import { payoutRoutes } from './payouts.ts';
import { validatePayout } from './payoutValidation.ts';
import { receiveRailCallback } from './railCallbacks.ts';
import { refundRoutes } from './refunds.ts';
import { listRequests } from './requestLogs.ts';
import { reviewCaseRoutes } from './reviewCases.ts';
import { search } from './search.ts';
import { simulationRoutes } from './simulations.ts';
import { splitTemplateRoutes } from './splitTemplates.ts';
import { statementRoutes } from './statements.ts';
import { transactionRoutes } from './transactions.ts';
import { transferRoutes } from './transfers.ts';
import { updateRoutes } from './updates.ts';
import { walletRoutes } from './wallets.ts';
import { webhookEndpointRoutes } from './webhookEndpoints.ts';
import { withdrawalRoutes } from './withdrawals.ts';

export const ROUTES: readonly Route[] = [
  getHealth,
  ...walletRoutes,
  ...transactionRoutes,
  ...statementRoutes,
  ...transferRoutes,
  ...holdRoutes,
  payFromWallet,
  ...withdrawalRoutes,
  ...paymentRoutes,
  ...paymentEndRoutes,
  ...refundRoutes,
  ...splitTemplateRoutes,
  ...payoutRoutes,
  ...updateRoutes,
  search,
  validatePayout,
  ...webhookEndpointRoutes,
  ...reviewCaseRoutes,
  ...eventRoutes,
  ...apiKeyRoutes,
  listRequests,
  ...bankRoutes,
  ...feeRoutes,
  receiveRailCallback,
  ...simulationRoutes,
];
