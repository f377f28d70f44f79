package ledgerdb

var archiveInvariants = []Invariant{
	{
		"a_reservation_is_in_one_place", "An archived reservation is in the archive only.", `
		SELECT a.reservation_id, 'archived', CASE WHEN r.reservation_id IS NULL THEN 'archived' ELSE 'in both tables' END
		FROM archived_reservations a LEFT JOIN reservations r ON r.tenant_id = $1 AND r.reservation_id = a.reservation_id
		WHERE a.tenant_id = $1`,
	},
	{
		"archived_reservations_are_over", "An archived reservation has ended, its budget hold too, and none of its requests is unresolved.", `
		SELECT a.reservation_id, 'outcome, budget ENDED, 0 unresolved',
			format('%s, budget %s, %s unresolved', CASE WHEN a.outcome_kind IS NULL THEN 'no outcome' ELSE 'outcome' END, a.budget_state,
				coalesce(l.unresolved, 0))
		FROM archived_reservations a
		LEFT JOIN (SELECT reservation_id, count(*) AS unresolved FROM lines WHERE tenant_id = $1 AND unresolved GROUP BY 1) l USING (reservation_id)
		WHERE a.tenant_id = $1`,
	},
}
