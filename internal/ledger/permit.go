package ledger

// BeginSubmission asks for the permit to send one request, and journals the intent before it is sent.
type BeginSubmission struct {
	Reservation         ReservationID
	Key                 RequestKey
	Token               Token
	Kind                LineKind
	Stage               Stage
	CheckTimeoutSeconds int64
	Resend              bool // of a generation
}

// PermitAnswer is a permit, or the line that stands under the key already, or a refusal. Without a permit nothing may be sent.
type PermitAnswer struct {
	Permit         *Permit
	AlreadyGranted *Line
	Refused        PermitRefusal
	View           View
}

// Keys names the rows that the call needs.
func (in *BeginSubmission) Keys() Keys {
	return Keys{Reservations: []ReservationID{in.Reservation}, RequestKeys: []RequestKey{in.Key}}
}

// BeginSubmission gives a permit to the first token of a key, to the same token again while it lives, and to nobody else.
func (b *Book) BeginSubmission(in BeginSubmission) (PermitAnswer, error) {
	c, err := b.begin(in.Reservation)
	if err != nil {
		return PermitAnswer{}, err
	}
	answer := c.permit(in)
	if err := c.commit(); err != nil {
		return PermitAnswer{}, err
	}
	answer.View = c.view()
	return answer, nil
}

func (c *change) permit(in BeginSubmission) PermitAnswer {
	if l := c.b.lines.get(in.Key); l != nil {
		switch {
		case l.Reservation != c.r.ID:
			return PermitAnswer{Refused: KeyOfAnotherReservation}
		case l.Kind != in.Kind || l.Stage != in.Stage:
			return PermitAnswer{Refused: KeyOfAnotherKind}
		case in.Resend:
			return c.resend(l)
		default:
			return c.permitAgain(l, in.Token)
		}
	}
	if in.Resend {
		return PermitAnswer{Refused: UnknownKey}
	}
	if refused := c.permitRefusal(in.Kind, in.Stage, ""); refused != "" {
		return PermitAnswer{Refused: refused}
	}
	c.happened(EventPermitted)
	l := c.addLine(Line{
		Key: in.Key, Kind: in.Kind, Stage: in.Stage, Token: in.Token,
		CheckTimeoutSeconds: in.CheckTimeoutSeconds, Knowledge: LinePermitted,
	})
	return PermitAnswer{Permit: &Permit{Kind: PermitGranted, ExpiresIn: l.PermitExpiresAt.Sub(c.b.Now)}}
}

// permitAgain answers a token that comes back, because its caller may have lost the first answer. It changes nothing.
func (c *change) permitAgain(l *Line, token Token) PermitAnswer {
	if l.Token != token || l.Knowledge != LinePermitted || !c.b.Now.Before(l.PermitExpiresAt) {
		known := *l
		return PermitAnswer{AlreadyGranted: &known}
	}
	if refused := c.permitRefusal(l.Kind, l.Stage, l.Key); refused != "" {
		return PermitAnswer{Refused: refused}
	}
	return PermitAnswer{Permit: &Permit{Kind: PermitGranted, ExpiresIn: l.PermitExpiresAt.Sub(c.b.Now)}}
}

// resend permits the original request once more under its original key, as long as the provider knows the key again. The permit ends
// with that window.
func (c *change) resend(l *Line) PermitAnswer {
	unanswered := l.Knowledge == LinePermitted || l.Knowledge == LineUncertain
	if !unanswered || !c.b.Now.Before(l.ResendUntil) {
		known := *l
		return PermitAnswer{AlreadyGranted: &known}
	}
	if refused := c.permitRefusal(l.Kind, l.Stage, l.Key); refused != "" {
		return PermitAnswer{Refused: refused}
	}
	end := c.b.Now.Add(seconds(c.r.Policy.PermitSeconds))
	if l.ResendUntil.Before(end) {
		end = l.ResendUntil
	}
	d := c.b.lines.draft(l.Key)
	d.ResentAt = c.b.Now
	if d.PermitExpiresAt.Before(end) {
		d.PermitExpiresAt = end
	}
	c.touch(d)
	c.happened(EventResent)
	return PermitAnswer{Permit: &Permit{Kind: PermitResend, ExpiresIn: end.Sub(c.b.Now)}}
}

// permitRefusal tells why a request of the kind and stage may not be sent, other than the one under the key itself. Nobody escapes
// uncertainty with a new key.
func (c *change) permitRefusal(kind LineKind, stage Stage, self RequestKey) PermitRefusal {
	succeeded, unresolved := false, false
	for l := range c.lines {
		if l.Kind == Generation && l.Knowledge == LineSucceeded {
			succeeded = true
		}
		if l.Kind == kind && l.Stage == stage && !l.Knowledge.Final() && l.Key != self {
			unresolved = true
		}
	}
	ofOutput := stage == OutputStage
	switch {
	case !c.r.State.Open():
		return NotOpen
	case succeeded && !ofOutput:
		return AlreadySucceeded
	case !succeeded && ofOutput:
		return NoSucceededGeneration
	case unresolved:
		return Unresolved
	case !ofOutput && !c.r.CancelRequestedAt.IsZero():
		return CancelRequested
	case !ofOutput && c.r.overdue(c.b.Now):
		return DeadlinePassed
	}
	return ""
}
