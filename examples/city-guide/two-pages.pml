<prompt schema="city-guide">
  <user><prague/><dublin/>When does the choir of Dublin sing?</user>
</prompt>
