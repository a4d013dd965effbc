-- Closing an endpoint ends the flows that wait for an operator because all attempts at it were in vain.
CREATE INDEX webhook_deliveries_spent ON webhook_deliveries (organisation_id, endpoint_id) WHERE failure_reason = 'retries_spent';
