-- The sandbox bank can refuse a transfer for now, as a bank does that pays from a balance which is too low.
ALTER TABLE sandbox_bank.destinations DROP CONSTRAINT destinations_behaviour_check,
  ADD CONSTRAINT destinations_behaviour_check CHECK (behaviour IN (
    'complete', 'reject', 'return', 'hold', 'timeout_delivered', 'timeout_lost', 'unavailable', 'underfunded'));
