-- +goose Up

-- The service connects as settlementd_service. It owns nothing: the role that migrates does, so what the service may not do stands in
-- GRANTs that it cannot change. The role belongs to the whole server; another database or schema may have made it, even this moment.

-- +goose StatementBegin
DO $$
BEGIN
    IF NOT EXISTS (SELECT FROM pg_roles WHERE rolname = 'settlementd_service') THEN
        CREATE ROLE settlementd_service LOGIN;
    END IF;
EXCEPTION
    WHEN duplicate_object OR unique_violation THEN
        NULL; -- somebody was faster
END
$$;
-- +goose StatementEnd

-- Everything follows the search_path: no statement of ours names a schema.

-- +goose StatementBegin
DO $$
BEGIN
    EXECUTE format('GRANT USAGE ON SCHEMA %I TO settlementd_service', current_schema());
END
$$;
-- +goose StatementEnd
