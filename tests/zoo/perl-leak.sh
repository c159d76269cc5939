# A daemon in Perl whose hash of sessions never loses one.
# @state sick
# @group 8
# @who perl|perl-leak
# @cause grow
# @needs perl
# @check 15
exec perl -e '
$| = 1; print "ready\n";
while (1) { $s{$n++} = "x" x 20000 for 1..25; select(undef, undef, undef, 0.05); }
'
