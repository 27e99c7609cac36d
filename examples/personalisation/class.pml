<prompt schema="personalisation">
  <sixth-grade/><intermediate/><a-year-ago/><by-reading/><quiz/><for-the-exam/>
  <user>What is an adjective?</user>
</prompt>
