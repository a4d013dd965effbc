-- What a rail said about a transfer without telling its status, or about a payment that it rejected. Histories have only
-- ids, amounts and codes.
CREATE TABLE rail_words (
  organisation_id uuid NOT NULL,
  environment     text NOT NULL CHECK (environment IN ('test', 'live')),
  flow_id         text NOT NULL,
  words           text NOT NULL CHECK (length(words) BETWEEN 1 AND 300),
  said_at         timestamptz(3) NOT NULL DEFAULT now(),
  PRIMARY KEY (organisation_id, flow_id)
);
COMMENT ON TABLE rail_words IS 'The last words of a rail about a transfer without a status, or a rejected payment, for operators.';
COMMENT ON COLUMN rail_words.flow_id IS 'The public id of the transfer or payment, under which its flow runs.';
COMMENT ON COLUMN rail_words.words IS 'Without credentials, account numbers and identity numbers.';
GRANT SELECT, INSERT, UPDATE ON rail_words TO manilla_app;
