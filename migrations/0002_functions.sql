-- +goose Up

-- The clock of every decision, read after the locks. It is a function of ours so that tests can turn it.

CREATE FUNCTION settlement_now() RETURNS timestamptz
    LANGUAGE sql VOLATILE
    RETURN clock_timestamp();

-- The start of the budget period that a moment falls into, as the days and months of a time zone go.

-- +goose StatementBegin
CREATE FUNCTION settlement_period_start(period text, tz text, at timestamptz) RETURNS timestamptz
    LANGUAGE sql STABLE
    RETURN CASE period
        WHEN 'DAY' THEN date_trunc('day', at, tz)
        WHEN 'MONTH' THEN date_trunc('month', at, tz)
        ELSE timestamptz '1970-01-01 00:00:00+00'
    END;
-- +goose StatementEnd

-- A statement of a batch proves its own row count with this, because COMMIT travels behind it in the same round trip.

-- +goose StatementBegin
CREATE FUNCTION settlement_expect(actual bigint, expected bigint, what text) RETURNS void
    LANGUAGE plpgsql VOLATILE AS $$
BEGIN
    IF actual IS DISTINCT FROM expected THEN
        RAISE EXCEPTION '%: % rows instead of %', what, actual, expected USING ERRCODE = 'SD001';
    END IF;
END
$$;
-- +goose StatementEnd

-- The guard of what never changes: its argument is the rule that a statement would break.

-- +goose StatementBegin
CREATE FUNCTION settlement_refuse() RETURNS trigger
    LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION '% on % is refused: %', TG_OP, TG_TABLE_NAME, TG_ARGV[0] USING ERRCODE = 'SD002';
END
$$;
-- +goose StatementEnd
