package ledgerdb

var reservationInvariants = []Invariant{
	{
		"an_end_is_whole", "A reservation is open with its customer's holds, or has one outcome and none of them.", `
		SELECT reservation_id,
			CASE
				WHEN state = ANY ('{PENDING,PROCESSING,UNCERTAIN}') THEN 'no outcome, HELD HELD'
				WHEN credits_captured > 0 THEN 'outcome, CAPTURED RELEASED'
				ELSE 'outcome, ' || CASE WHEN credit_state = 'HELD' THEN 'CAPTURED or RETURNED' ELSE credit_state END || ' RELEASED' END,
			CASE WHEN outcome_kind IS NULL AND settled_at IS NULL THEN 'no outcome' WHEN outcome_kind IS NULL THEN 'no outcome but settled'
				WHEN settled_at IS NULL THEN 'outcome never settled' ELSE 'outcome' END || ', ' || credit_state || ' ' || slot_state
		FROM all_reservations WHERE tenant_id = $1`,
	},
	{
		"an_outcome_leads_to_its_state", "The state of a reservation that has ended is that of its outcome.", `
		SELECT reservation_id,
			CASE outcome_kind WHEN 'COMPLETED' THEN 'COMPLETED' WHEN 'POLICY_REJECTED' THEN 'REJECTED' WHEN 'CANCELLED' THEN 'CANCELLED'
				WHEN 'EXPIRED' THEN 'EXPIRED' ELSE 'FAILED' END,
			state
		FROM all_reservations WHERE tenant_id = $1 AND outcome_kind IS NOT NULL`,
	},
	{
		"a_capture_is_what_the_outcome_says", "Completed captures everything or the charge, a rejected output what its stamp says, everything else nothing.", `
		SELECT reservation_id,
			CASE
				WHEN outcome_kind = 'COMPLETED' THEN coalesce(outcome_charge, taken_amount)
				WHEN outcome_kind = 'POLICY_REJECTED' AND outcome_stage = 'OUTPUT' AND output_rejection_captures THEN taken_amount
				ELSE 0 END,
			credits_captured
		FROM all_reservations WHERE tenant_id = $1`,
	},
	{
		"a_budget_hold_ends_with_the_last_cost", "A budget hold ends when its reservation has ended and every cost is known, and not before.", `
		SELECT r.reservation_id, CASE WHEN r.outcome_kind IS NULL OR l.unknown THEN 'HELD' ELSE 'ENDED' END, r.budget_state
		FROM all_reservations r
		LEFT JOIN (
			SELECT reservation_id, bool_or(cost_micros IS NULL) AS unknown FROM lines WHERE tenant_id = $1 GROUP BY reservation_id
		) l USING (reservation_id)
		WHERE r.tenant_id = $1`,
	},
	{
		"every_change_has_one_event", "A reservation has exactly one event for each of its revisions, from 0 on.", `
		SELECT r.reservation_id, '0..' || r.revision || ', once each',
			coalesce(min(e.revision) || '..' || max(e.revision), 'none')
				|| CASE WHEN count(e.revision) = count(DISTINCT e.revision) AND count(e.revision) = max(e.revision) + 1 THEN ', once each'
					ELSE ', ' || count(e.revision) || ' events' END
		FROM all_reservations r LEFT JOIN entries e ON e.tenant_id = $1 AND e.reservation_id = r.reservation_id
		WHERE r.tenant_id = $1 GROUP BY r.reservation_id, r.revision`,
	},
	{
		"reservations_name_what_exists", "The account of a reservation exists, and so does the budget that it was taken from.", `
		SELECT r.reservation_id, 'account ' || r.account_id || ', budget of ' || r.provider_id,
			coalesce('account ' || a.account_id, 'no account') || coalesce(', budget of ' || b.provider_id, ', no budget')
		FROM all_reservations r
		LEFT JOIN accounts a ON a.tenant_id = $1 AND a.account_id = r.account_id
		LEFT JOIN budgets b ON b.tenant_id = $1 AND b.provider_id = r.provider_id AND b.period_start = r.period_start
		WHERE r.tenant_id = $1`,
	},
	{
		"exceptions_name_what_exists", "The reservation of an exception exists.", `
		SELECT e.exception_id, e.reservation_id, r.reservation_id
		FROM exceptions e LEFT JOIN all_reservations r ON r.tenant_id = $1 AND r.reservation_id = e.reservation_id
		WHERE e.tenant_id = $1`,
	},
	{
		"entries_name_what_exists", "The account of an entry exists, and so does its reservation, which is of that account.", `
		SELECT 'entry ' || e.entry_id, 'account ' || e.account_id || coalesce(', reservation ' || e.reservation_id || ' of ' || e.account_id, ''),
			coalesce('account ' || a.account_id, 'no account') || CASE WHEN e.reservation_id IS NULL THEN ''
				ELSE coalesce(', reservation ' || r.reservation_id || ' of ' || r.account_id, ', no reservation') END
		FROM entries e
		LEFT JOIN accounts a ON a.tenant_id = $1 AND a.account_id = e.account_id
		LEFT JOIN all_reservations r ON r.tenant_id = $1 AND r.reservation_id = e.reservation_id
		WHERE e.tenant_id = $1`,
	},
	{
		"events_are_keyed_by_their_change", "The key of an event names its account and grant, or its reservation and change.", `
		SELECT 'entry ' || entry_id,
			CASE
				WHEN event_type = 'CREDITS_GRANTED' THEN 'grant ' || account_id || ' credits ' || split_part(event_key, ' ', 4)
				WHEN event_type = 'FREE_ATTEMPTS_GRANTED' THEN 'grant ' || account_id || ' free_attempts ' || split_part(event_key, ' ', 4)
				WHEN event_type = 'RESERVED' THEN 'reserve ' || reservation_id
				WHEN event_type = ANY ('{COMPLETED,PROVIDER_FAILED,POLICY_REJECTED,MODERATION_UNAVAILABLE,CANCELLED,EXPIRED,NOT_RECEIVED,GIVEN_UP}')
					THEN 'end ' || reservation_id
				ELSE 'change ' || reservation_id || ' ' || revision END,
			event_key
		FROM entries WHERE tenant_id = $1`,
	},
	{
		"an_end_has_one_event", "A reservation that has ended has one event of its outcome, an open one has none.", `
		SELECT r.reservation_id, coalesce(r.outcome_kind, 'none'), coalesce(e.event_type, 'none')
		FROM all_reservations r LEFT JOIN entries e ON e.tenant_id = $1 AND e.event_key = 'end ' || r.reservation_id
		WHERE r.tenant_id = $1`,
	},
	{
		"movements_match_their_reservation", "A reservation's events took what it took, and gave back or captured it once.", `
		SELECT r.reservation_id,
			format('available %s, held %s of %s', CASE WHEN r.credit_state = 'HELD' THEN -r.taken_amount ELSE -r.credits_captured END,
				CASE WHEN r.credit_state = 'HELD' THEN r.taken_amount ELSE 0 END, r.account_id),
			format('available %s, held %s of %s', e.available, e.held, e.accounts)
		FROM all_reservations r
		LEFT JOIN (
			SELECT e.reservation_id, string_agg(DISTINCT e.account_id, ' and ') AS accounts,
				coalesce(sum((e.available_after - e.available_before) * CASE WHEN e.unit = r.taken_unit THEN 1 END), 0) AS available,
				coalesce(sum((e.held_after - e.held_before) * CASE WHEN e.unit = r.taken_unit THEN 1 END), 0) AS held
			FROM entries e JOIN all_reservations r ON r.tenant_id = $1 AND r.reservation_id = e.reservation_id
			WHERE e.tenant_id = $1 GROUP BY e.reservation_id
		) e USING (reservation_id)
		WHERE r.tenant_id = $1`,
	},
	{
		"budget_changes_match_their_reservation", "A reservation's events held its budget and let it go once, and spent what its lines cost.", `
		SELECT r.reservation_id,
			format('held %s, spent %s', CASE WHEN r.budget_state = 'HELD' THEN r.budget_micros ELSE 0 END, coalesce(l.cost, 0)),
			format('held %s, spent %s', coalesce(e.held, 0), coalesce(e.spent, 0))
		FROM all_reservations r
		LEFT JOIN (
			SELECT reservation_id, sum(budget_held_change) AS held, sum(budget_spent_change) FILTER (WHERE event_type <> 'ADJUSTED') AS spent
			FROM entries WHERE tenant_id = $1 GROUP BY reservation_id
		) e USING (reservation_id)
		LEFT JOIN (SELECT reservation_id, sum(cost_micros) AS cost FROM lines WHERE tenant_id = $1 GROUP BY reservation_id) l USING (reservation_id)
		WHERE r.tenant_id = $1`,
	},
}
