package ledgerdb

// balances are an account's two balances as rows.
const balances = `(
	SELECT account_id, 'CREDITS' AS unit, credits_available AS available, credits_held AS held FROM accounts WHERE tenant_id = $1
	UNION ALL
	SELECT account_id, 'FREE_ATTEMPTS', free_attempts_available, free_attempts_held FROM accounts WHERE tenant_id = $1)`

var accountInvariants = []Invariant{
	{
		"balances_match_the_ledger", "What an account has, available and held, is what its ledger entries add up to.", `
		SELECT b.account_id || ' ' || b.unit || ' ' || side.name, side.expected, side.actual
		FROM ` + balances + ` b
		LEFT JOIN (
			SELECT account_id, unit, sum(available_after - available_before) AS available, sum(held_after - held_before) AS held
			FROM entries WHERE tenant_id = $1 AND unit IS NOT NULL GROUP BY account_id, unit
		) moved USING (account_id, unit)
		CROSS JOIN LATERAL (VALUES
			('available', coalesce(moved.available, 0), b.available),
			('held', coalesce(moved.held, 0), b.held)) side (name, expected, actual)`,
	},
	{
		"movements_follow_each_other", "Each movement of an account starts where the one before it ended, and the first starts at nothing.", `
		SELECT account_id || ' ' || unit || ' entry ' || entry_id,
			coalesce(lag(available_after) OVER w, 0) || ' and ' || coalesce(lag(held_after) OVER w, 0),
			available_before || ' and ' || held_before
		FROM entries WHERE tenant_id = $1 AND unit IS NOT NULL
		WINDOW w AS (PARTITION BY account_id, unit ORDER BY entry_id)`,
	},
	{
		"held_matches_the_holds", "What an account has held is what its reservations hold of it.", `
		SELECT b.account_id || ' ' || b.unit, coalesce(r.held, 0), b.held
		FROM ` + balances + ` b
		LEFT JOIN (
			SELECT account_id, taken_unit AS unit, sum(taken_amount) AS held
			FROM all_reservations WHERE tenant_id = $1 AND credit_state = 'HELD' GROUP BY account_id, taken_unit
		) r USING (account_id, unit)`,
	},
	{
		"slots_match_the_holds", "An account's slots in use are those that its reservations hold.", `
		SELECT a.account_id, coalesce(r.slots, 0), a.slots_in_use
		FROM accounts a
		LEFT JOIN (
			SELECT account_id, count(*) AS slots FROM all_reservations WHERE tenant_id = $1 AND slot_state = 'HELD' GROUP BY account_id
		) r USING (account_id)
		WHERE a.tenant_id = $1`,
	},
	{
		"nothing_is_negative", "No balance, count or budget is below zero.", `
		SELECT place, 'not negative', CASE WHEN least >= 0 THEN 'not negative' ELSE least::text END
		FROM (
			SELECT 'account ' || account_id,
				least(credits_available, credits_held, free_attempts_available, free_attempts_held, slots_in_use, slot_limit)
			FROM accounts WHERE tenant_id = $1
			UNION ALL
			SELECT 'provider ' || provider_id, least(in_flight, uncertain_in_flight, max_in_flight, budget_limit_micros)
			FROM providers WHERE tenant_id = $1
			UNION ALL
			SELECT 'budget ' || provider_id || ' ' || period_start, least(limit_micros, held_micros, spent_micros)
			FROM budgets WHERE tenant_id = $1
		) lowest (place, least)`,
	},
}

var budgetInvariants = []Invariant{
	{
		"in_flight_matches_the_holds", "A provider's reservations in flight are those that hold a slot.", `
		SELECT p.provider_id, coalesce(r.slots, 0), p.in_flight
		FROM providers p
		LEFT JOIN (
			SELECT provider_id, count(*) AS slots FROM all_reservations WHERE tenant_id = $1 AND slot_state = 'HELD' GROUP BY provider_id
		) r USING (provider_id)
		WHERE p.tenant_id = $1`,
	},
	{
		"uncertain_matches_the_states", "A provider's uncertain reservations are those in that state.", `
		SELECT p.provider_id, coalesce(r.uncertain, 0), p.uncertain_in_flight
		FROM providers p
		LEFT JOIN (
			SELECT provider_id, count(*) AS uncertain FROM all_reservations WHERE tenant_id = $1 AND state = 'UNCERTAIN' GROUP BY provider_id
		) r USING (provider_id)
		WHERE p.tenant_id = $1`,
	},
	{
		"budget_held_matches_the_holds", "What a budget has held is what reservations hold of that very period.", `
		SELECT b.provider_id || ' ' || b.period_start, coalesce(r.held, 0), b.held_micros
		FROM budgets b
		LEFT JOIN (
			SELECT provider_id, period_start, sum(budget_micros) AS held
			FROM all_reservations WHERE tenant_id = $1 AND budget_state = 'HELD' GROUP BY provider_id, period_start
		) r USING (provider_id, period_start)
		WHERE b.tenant_id = $1`,
	},
	{
		"budget_spent_matches_the_costs", "What a budget has spent is the known costs of its reservations, and what operators adjusted.", `
		SELECT b.provider_id || ' ' || b.period_start, coalesce(r.spent, 0), b.spent_micros
		FROM budgets b
		LEFT JOIN (
			SELECT r.provider_id, r.period_start, sum(s.spent) AS spent
			FROM all_reservations r JOIN (
				SELECT reservation_id, cost_micros AS spent FROM lines WHERE tenant_id = $1 AND cost_micros <> 0
				UNION ALL
				SELECT reservation_id, budget_spent_change FROM entries WHERE tenant_id = $1 AND event_type = 'ADJUSTED'
			) s USING (reservation_id)
			WHERE r.tenant_id = $1 GROUP BY r.provider_id, r.period_start
		) r USING (provider_id, period_start)
		WHERE b.tenant_id = $1`,
	},
}
