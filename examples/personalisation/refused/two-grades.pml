<prompt schema="personalisation">
  <third-grade/><beginner/><sixth-grade/>
  <user>What is a fraction?</user>
</prompt>
