<prompt schema="city-guide">
  <user><oslo/>When does the museum of Oslo open?</user>
</prompt>
