package ledgerdb

var statementInvariants = []Invariant{
	{
		"a_statement_is_the_sum_of_its_lines", "The checkpoint and the counts of a statement are those of its lines.", `
		SELECT s.provider_id || ' ' || s.statement_id,
			format('%s lines up to %s: %s matched, %s known, %s repeated, %s mismatched, %s unknown, %s bad',
				l.lines, l.lines_through, l.matched, l.already_known, l.repeated, l.mismatched, l.unknown_to_us, l.bad),
			format('%s lines up to %s: %s matched, %s known, %s repeated, %s mismatched, %s unknown, %s bad',
				s.lines, s.lines_through, s.matched, s.already_known, s.repeated, s.mismatched, s.unknown_to_us, s.bad)
		FROM statements s
		CROSS JOIN LATERAL (
			SELECT count(*) AS lines, coalesce(max(line_number), 0) AS lines_through,
				count(*) FILTER (WHERE verdict = ANY ('{MATCHED,KNOWN,REPEATED}')) AS matched,
				count(*) FILTER (WHERE verdict = ANY ('{KNOWN,REPEATED}')) AS already_known,
				count(*) FILTER (WHERE verdict = 'REPEATED') AS repeated, count(*) FILTER (WHERE verdict = 'MISMATCH') AS mismatched,
				count(*) FILTER (WHERE verdict = 'UNKNOWN_TO_US') AS unknown_to_us, count(*) FILTER (WHERE verdict = 'BAD') AS bad
			FROM statement_lines WHERE tenant_id = $1 AND provider_id = s.provider_id AND statement_id = s.statement_id
		) l
		WHERE s.tenant_id = $1`,
	},
	{
		"what_a_statement_made_known_is_on_record", "A cost that a line of a statement made known is the one on record for its request.", `
		SELECT s.provider_id || ' ' || s.statement_id || ' line ' || s.line_number, s.cost_micros, l.cost_micros
		FROM statement_lines s LEFT JOIN lines l ON l.tenant_id = $1 AND l.request_key = s.request_key AND l.provider_id = s.provider_id
		WHERE s.tenant_id = $1 AND s.verdict = 'MATCHED'`,
	},
}
