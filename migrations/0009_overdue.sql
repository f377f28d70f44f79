-- +goose Up

-- The tenants that have overdue work, the longest waiting first. It jumps from tenant to tenant in the index, so that one with a million
-- overdue reservations hides no other. It runs as the owner: under row level security the sweep itself would see no tenant.

-- +goose StatementBegin
CREATE FUNCTION overdue_tenants(max integer) RETURNS SETOF text
    LANGUAGE sql STABLE SECURITY DEFINER AS $$
    WITH RECURSIVE earliest AS (
        (SELECT tenant_id, due_at FROM reservations WHERE due_at IS NOT NULL ORDER BY tenant_id, due_at LIMIT 1)
        UNION ALL
        SELECT next.tenant_id, next.due_at
        FROM earliest e CROSS JOIN LATERAL (
            SELECT r.tenant_id, r.due_at FROM reservations r
            WHERE r.tenant_id > e.tenant_id AND r.due_at IS NOT NULL
            ORDER BY r.tenant_id, r.due_at LIMIT 1) next
    )
    SELECT tenant_id FROM earliest WHERE due_at <= settlement_now() ORDER BY due_at, tenant_id LIMIT max
$$;
-- +goose StatementEnd

-- Who may create temporary tables must not slip one of his under the function.

-- +goose StatementBegin
DO $$
BEGIN
    EXECUTE format('ALTER FUNCTION overdue_tenants(integer) SET search_path = %I, pg_temp', current_schema());
END
$$;
-- +goose StatementEnd

REVOKE EXECUTE ON FUNCTION overdue_tenants(integer) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION overdue_tenants(integer) TO settlementd_service;
